import { fieldOf, type Fields, isFields, textOf } from "../../../values/fields.ts";
import type { MessagePart, ModelCall, UserMessage } from "../../model.ts";
import { type AskedAnswer, type AskedTurn, refused } from "../../surface/surface.ts";
import { callerOf, CODE_EXECUTION_NAME, outputOf } from "../reply.ts";
import { readContent, readResultContent } from "./read-content.ts";

/** What the messages of a request say. */
export interface AskedMessages {
  readonly turns: readonly AskedTurn[];
  readonly said: readonly UserMessage[];
  readonly answers: ReadonlyMap<string, AskedAnswer>;
  readonly ofPrograms: ReadonlySet<string>;
  readonly openPrograms: readonly string[];
  /** Whether the last message is the model's own. */
  readonly endsWithModel: boolean;
}

interface OpenTurn extends AskedTurn {
  text: string;
  readonly calls: ModelCall[];
  readonly results: Map<string, AskedAnswer>;
}

/** Reads messages into turns of the model. Throws `RefusedAsk` for what the provider would refuse. */
export function readMessages(body: unknown): AskedMessages {
  const messages = fieldOf(body, "messages");
  if (!Array.isArray(messages)) throw refused("messages", "Field required");
  if (messages.length === 0) throw refused("messages", "at least one message is required");
  const reader = new MessagesReader();
  for (const [index, message] of (messages as readonly unknown[]).entries()) reader.take(message, `messages.${index}`);
  return reader.end();
}

class MessagesReader {
  readonly #turns: OpenTurn[] = [];
  #said: UserMessage[] = [];
  /** Calls of programs without a result, by their ids. */
  readonly #below = new Map<string, string>();
  readonly #ids = new Set<string>();
  #answers = new Map<string, AskedAnswer>();
  #ofPrograms = new Set<string>();
  #isModels = false;

  take(message: unknown, place: string): void {
    const role = textOf(message, "role");
    const content = blocksOf(message, place);
    if (role === "assistant") {
      if (this.#turns.length === 0 && this.#said.length === 0)
        throw refused("messages", "first message must use the user role");
      this.#isModels = true;
      for (const [index, block] of content.entries()) this.#takeModels(block, `${place}.content.${index}`);
      return;
    }
    if (role === "system")
      throw refused(`${place}.role`, "this server does not offer system messages among the messages");
    if (role !== "user") throw refused(`${place}.role`, "Input should be 'user' or 'assistant'");
    this.#takeUsers(content, place);
  }

  end(): AskedMessages {
    const last = this.#turns.at(-1);
    const openPrograms = last ? openOf(last, "program_call") : [];
    if (this.#isModels) this.#answers = new Map();
    return {
      turns: this.#turns,
      said: this.#said,
      answers: this.#answers,
      ofPrograms: this.#ofPrograms,
      openPrograms,
      endsWithModel: this.#isModels,
    };
  }

  #takeModels(block: Fields, place: string): void {
    switch (block.type) {
      case "text":
        this.#turn(true).text += textOf(block, "text") ?? "";
        return;
      case "thinking":
      case "redacted_thinking":
        // This server gives none: they are of another one, which alone can read them.
        return;
      case "tool_use":
        this.#takeCall(block, place);
        return;
      case "server_tool_use":
        this.#takeServerCall(block, place);
        return;
      case "code_execution_tool_result":
        this.#takeProgramEnd(block, place);
        return;
      case "tool_search_tool_result":
        return;
      default:
        throw refused(
          place,
          `this server does not offer blocks of the type ${quoted(block.type)} in messages of the model`,
        );
    }
  }

  /** The turn that a block belongs to. What is new after results, or after a message of the user, begins another one. */
  #turn(isNew: boolean): OpenTurn {
    const last = this.#turns.at(-1);
    if (last && this.#said.length === 0 && !(isNew && last.results.size > 0)) return last;
    if (last) this.#refuseOpen(last);
    const turn = { said: this.#said, text: "", calls: [], results: new Map<string, AskedAnswer>() };
    this.#said = [];
    this.#turns.push(turn);
    return turn;
  }

  #refuseOpen(turn: OpenTurn): void {
    const open = [...openOf(turn, "tool_call"), ...this.#below.keys(), ...openOf(turn, "program_call")];
    if (open.length > 0)
      throw refused(
        "messages",
        `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.slice(0, 10).join(", ").slice(0, 500)}`,
      );
  }

  #takeCall(block: Fields, place: string): void {
    const { id, name, input = {} } = block;
    this.#takeId(id, place);
    if (typeof name !== "string" || name === "") throw refused(`${place}.tool_use.name`, "Field required");
    if (!isFields(input)) throw refused(`${place}.tool_use.input`, "Input should be a valid dictionary");
    const caller = callerOf(fieldOf(block, "caller"));
    if (caller === "direct") {
      const inputText = JSON.stringify(input);
      this.#turn(true).calls.push({ type: "tool_call", id: String(id), tool: name, caller, inputText });
      return;
    }
    const program = textOf(block.caller, "tool_id") ?? "";
    const { calls } = this.#turn(false);
    if (caller === "unknown" || !calls.some((call) => call.type === "program_call" && call.id === program))
      throw refused(`${place}.tool_use.caller`, "it names no code_execution of this message or the message before");
    this.#below.set(String(id), program);
  }

  #takeId(id: unknown, place: string): void {
    if (typeof id !== "string" || !/^[a-zA-Z0-9_-]{1,256}$/.test(id))
      throw refused(`${place}.id`, "String should match pattern '^[a-zA-Z0-9_-]+$'");
    if (this.#ids.has(id)) throw refused(place, "`tool_use` ids must be unique");
    this.#ids.add(id);
  }

  #takeServerCall(block: Fields, place: string): void {
    const name = textOf(block, "name") ?? "";
    if (name.startsWith("tool_search_tool_")) return;
    if (name !== CODE_EXECUTION_NAME)
      throw refused(`${place}.server_tool_use.name`, `this server does not offer ${quoted(name)}`);
    this.#takeId(block.id, place);
    const source = textOf(block.input, "code");
    if (source === undefined) throw refused(`${place}.server_tool_use.input.code`, "Field required");
    this.#turn(true).calls.push({ type: "program_call", id: String(block.id), source });
  }

  #takeProgramEnd(block: Fields, place: string): void {
    const id = textOf(block, "tool_use_id") ?? "";
    const turn = this.#turn(false);
    if (!openOf(turn, "program_call").includes(id))
      throw refused(
        place,
        `unexpected \`tool_use_id\` found in \`code_execution_tool_result\` blocks: ${id.slice(0, 256)}`,
      );
    for (const [call, program] of this.#below)
      if (program === id) throw refused(place, `the call ${call} of this program has no \`tool_result\``);
    const { output = "", isError } = outputOf(block.content);
    turn.results.set(id, { text: output, isError, parts: [] });
  }

  #takeUsers(content: readonly Fields[], place: string): void {
    this.#isModels = false;
    this.#answers = new Map();
    this.#ofPrograms = new Set();
    const parts: MessagePart[] = [];
    for (const [index, block] of content.entries()) {
      const at = `${place}.content.${index}`;
      if (block.type !== "tool_result") parts.push(readContent(block, at));
      else if (parts.length > 0) throw refused(at, "`tool_result` blocks must come before other content");
      else this.#takeResult(block, at);
    }
    const last = this.#turns.at(-1);
    if (last && this.#said.length === 0) this.#refuseUnanswered(last, parts.length > 0, place);
    const [only] = parts;
    if (parts.length === 1 && only?.type === "text") this.#said.push(only.text);
    else if (parts.length > 0) this.#said.push(parts);
  }

  #takeResult(block: Fields, place: string): void {
    const id = textOf(block, "tool_use_id") ?? "";
    const turn = this.#said.length === 0 ? this.#turns.at(-1) : undefined;
    const isBelow = this.#below.has(id);
    if (!turn || !(isBelow || openOf(turn, "tool_call").includes(id)))
      throw refused(
        place,
        `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id.slice(0, 256)}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message`,
      );
    const answer = readResultContent(block, place);
    if (isBelow && answer.parts.length > 0)
      throw refused(`${place}.content`, "results of calls that code_execution makes may only have text");
    this.#answers.set(id, answer);
    if (isBelow) {
      this.#ofPrograms.add(id);
      this.#below.delete(id);
    } else turn.results.set(id, answer);
  }

  #refuseUnanswered(turn: OpenTurn, hasText: boolean, place: string): void {
    const open = [...openOf(turn, "tool_call"), ...this.#below.keys()];
    if (open.length > 0)
      throw refused(
        place,
        `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.slice(0, 10).join(", ").slice(0, 500)}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message`,
      );
    if (hasText && openOf(turn, "program_call").length > 0)
      throw refused(place, "while code_execution waits for results, a message may only have `tool_result` blocks");
  }
}

function openOf({ calls, results }: AskedTurn, type: ModelCall["type"]): readonly string[] {
  return calls.filter((call) => call.type === type && !results.has(call.id)).map(({ id }) => id);
}

function blocksOf(message: unknown, place: string): readonly Fields[] {
  const content = fieldOf(message, "content");
  if (typeof content === "string") {
    if (content.trim() === "") throw refused(place, "text content blocks must be non-empty");
    return [{ type: "text", text: content }];
  }
  if (!Array.isArray(content) || content.length === 0 || !content.every(isFields))
    throw refused(`${place}.content`, "Input should be a valid string or a list of blocks, not empty");
  return content;
}

export function quoted(value: unknown): string {
  return typeof value === "string" ? `"${value.slice(0, 100)}"` : "that it has";
}
