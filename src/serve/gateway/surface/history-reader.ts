import type { MessagePart, ModelCall, UserMessage } from "../../../models/model.ts";
import { type AskedAnswer, type AskedHistory, type AskedTurn, groupedName, invalidField } from "./surface.ts";

interface OpenTurn extends AskedTurn {
  text: string;
  readonly calls: ModelCall[];
  readonly results: Map<string, AskedAnswer>;
}

interface CallAsked {
  readonly id: string;
  readonly tool: string;
  readonly namespace?: string | undefined;
  readonly inputText: string;
}

const unanswered = (ids: readonly string[]) =>
  `there is no result of the call ${ids.slice(0, 10).join(", ").slice(0, 500)}: each call needs one, before anything else follows`;

const noCall = (id: string) => `no call before it has the id ${id.slice(0, ID_LENGTH)} and waits for a result`;

/** Characters of an id, which no call of a history or of this server exceeds. */
export const ID_LENGTH = 256;

/**
 * Puts the turns of a model together from what a client repeats: texts, calls, programs and their ends, answers, and what
 * the user said, in their order. Throws `RefusedAsk` for what no conversation can have been.
 */
export class HistoryReader {
  readonly #turns: OpenTurn[] = [];
  #userMessages: UserMessage[] = [];
  /** Calls of the last turn that have no answer yet. While there are any, or programs, nothing was said after the turn. */
  readonly #calls = new Set<string>();
  /** Programs of the last turn that have not ended, each with its calls that have no answer. */
  readonly #programs = new Map<string, Set<string>>();
  /** Programs of calls without an answer, by the ids of the calls. */
  readonly #below = new Map<string, string>();
  readonly #ids = new Set<string>();
  #answers = new Map<string, AskedAnswer>();
  #ofPrograms = new Set<string>();
  #isModels = false;
  readonly #instructions: string[] = [];
  /** Messages of the user so far. */
  #messages = 0;
  /** Whether calls before this history may be answered, which the server has. */
  readonly #goesOn: boolean;

  constructor(goesOn = false) {
    this.#goesOn = goesOn;
  }

  /**
   * The system said something. It keeps its rank, which no message of a user has: it is one of the instructions, and tells
   * after which message it was said.
   */
  system(text: string): void {
    if (text.trim() === "") return;
    const place = `After message ${this.#messages} of the user, the system said:`;
    this.#instructions.push(this.isEmpty ? text : `${place}\n\n${text}`);
  }

  get isEmpty(): boolean {
    return this.#turns.length === 0 && this.#userMessages.length === 0;
  }

  text(text: string): void {
    this.#turn(true).text += text;
  }

  /** `namespace` is the group of the tool, if it is in one. */
  call({ namespace, ...call }: CallAsked, place: string): void {
    this.#takeId(call.id, place);
    const tool = namespace === undefined ? call.tool : groupedName(namespace, call.tool);
    this.#turn(true).calls.push({ type: "tool_call", ...call, tool, caller: "direct" });
    this.#calls.add(call.id);
  }

  program(id: string, source: string, place: string): void {
    this.#takeId(id, place);
    this.#turn(true).calls.push({ type: "program_call", id, source });
    this.#programs.set(id, new Set());
  }

  /** A call that a program has made. */
  callOfProgram(id: string, program: string, place: string): void {
    this.#takeId(id, place);
    this.#turn(false);
    const waits = this.#programs.get(program);
    if (!waits) throw invalidField(place, "its caller names no program of this turn of the model");
    waits.add(id);
    this.#below.set(id, program);
  }

  programEnd(id: string, answer: AskedAnswer, place: string): void {
    const turn = this.#turn(false);
    const waits = this.#programs.get(id);
    if (!waits) throw invalidField(place, noCall(id));
    if (waits.size > 0) throw invalidField(place, unanswered([...waits]));
    turn.results.set(id, answer);
    this.#programs.delete(id);
  }

  answer(id: string, answer: AskedAnswer, place: string): void {
    this.#asUser();
    const program = this.#below.get(id);
    const isBelow = program !== undefined;
    const isKnown = isBelow || this.#calls.has(id);
    const isBefore = this.#goesOn && this.#turns.length === 0 && id.length <= ID_LENGTH && !this.#answers.has(id);
    if (!isKnown && !isBefore) throw invalidField(place, noCall(id));
    if (isBelow && answer.parts.length > 0)
      throw invalidField(place, "results of calls that a program makes may only have text");
    this.#answers.set(id, answer);
    if (isBelow) {
      this.#ofPrograms.add(id);
      this.#below.delete(id);
      this.#programs.get(program)?.delete(id);
    } else {
      this.#turns.at(-1)?.results.set(id, answer);
      this.#calls.delete(id);
    }
  }

  /** The user said something: before it, all calls have answers. */
  user(parts: readonly MessagePart[], place: string): void {
    if (parts.length === 0 || parts.some((part) => part.type === "text" && part.text === ""))
      throw invalidField(`${place}.content`, "a message of the user, and each text in it, must not be empty");
    this.#asUser();
    this.refuseUnanswered(place);
    if (this.#programs.size > 0)
      throw invalidField(place, "while a program waits, only the results of its calls may follow");
    const [only] = parts;
    this.#userMessages.push(parts.length === 1 && only?.type === "text" ? only.text : parts);
    this.#messages += 1;
  }

  /** Throws if a call has no answer. Programs may still wait for theirs. */
  refuseUnanswered(place: string): void {
    const open = [...this.#calls, ...this.#below.keys()];
    if (open.length > 0) throw invalidField(place, unanswered(open));
  }

  end(): AskedHistory {
    return {
      instructions: this.#instructions,
      turns: this.#turns,
      userMessages: this.#userMessages,
      answers: this.#isModels ? new Map() : this.#answers,
      ofPrograms: this.#ofPrograms,
      openPrograms: [...this.#programs.keys()],
      endsWithModel: this.#isModels,
    };
  }

  #asUser(): void {
    if (!this.#isModels) return;
    this.#answers = new Map();
    this.#ofPrograms = new Set();
    this.#isModels = false;
  }

  /** The turn that something of the model's belongs to. What is new after results, or after the user, begins another one. */
  #turn(isNew: boolean): OpenTurn {
    this.#isModels = true;
    const last = this.#turns.at(-1);
    if (last && this.#userMessages.length === 0 && !(isNew && last.results.size > 0)) return last;
    const open = [...this.#calls, ...this.#below.keys(), ...this.#programs.keys()];
    if (open.length > 0) throw invalidField("messages", unanswered(open));
    const turn = { userMessages: this.#userMessages, text: "", calls: [], results: new Map<string, AskedAnswer>() };
    this.#userMessages = [];
    this.#turns.push(turn);
    return turn;
  }

  #takeId(id: string, place: string): void {
    if (id === "" || id.length > ID_LENGTH) throw invalidField(place, `expected an id of 1 to ${ID_LENGTH} characters`);
    if (this.#ids.has(id)) throw invalidField(place, "two calls have this id");
    this.#ids.add(id);
  }
}
