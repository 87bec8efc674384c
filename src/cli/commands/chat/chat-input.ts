import { pause } from "../../../clock.ts";
import { PortcullisError } from "../../../errors.ts";
import { readLines } from "../../../journal/reading/read-lines.ts";
import { EXIT } from "../../exit-code.ts";
import { Failure } from "../../failure.ts";
import { standardStreams, writeStderr } from "../../terminal/standard-streams.ts";
import { type AnswerLines, type Editing, TerminalLines } from "../../terminal/terminal-lines.ts";

/** Longest message of a pipe, in bytes. */
const MESSAGE_BYTES = 4 * 1024 * 1024;
const PROMPT = "› ";
const MORE = "… ";

/** Where the messages of a conversation come from. */
export interface ChatInput extends Disposable {
  /** The lines of the person who types at a terminal: there lines like `/help` are commands. Undefined for a pipe. */
  readonly lines: AnswerLines | undefined;
  /** The next message that is not empty; undefined once there is none, or if the signal is aborted. */
  next(signal: AbortSignal): Promise<string | undefined>;
  /** Number of the messages that are there and were not asked for, `COUNTED` at most. Nothing can be asked for after it. */
  left(): Promise<number>;
}

/** Messages from the lines of a terminal, or from a pipe. */
export function openChatInput(editing: Editing): ChatInput {
  const { stdin, stderr } = standardStreams();
  if (!stdin.isTTY) return pipeInput(stdin);
  const lines = new TerminalLines(stdin, stderr, editing);
  return {
    lines,
    next: (signal) => nextMessage(lines, signal),
    left: () => Promise.resolve(0),
    [Symbol.dispose]: () => lines[Symbol.dispose](),
  };
}

/** A line that ends with a backslash goes on in the next one. */
async function nextMessage(lines: AnswerLines, signal: AbortSignal): Promise<string | undefined> {
  let text = "";
  for (;;) {
    const answer = await lines.ask(text === "" ? PROMPT : MORE, signal);
    if (answer.type === "ended") writeStderr("\n");
    if (answer.type !== "line") return undefined;
    text += answer.text;
    if (text.endsWith("\\")) text = `${text.slice(0, -1)}\n`;
    else if (text.trim() !== "") return text;
    else text = "";
  }
}

function pipeInput(stdin: NodeJS.ReadStream): ChatInput {
  const messages = new PipedMessages(stdin);
  return {
    lines: undefined,
    next: (signal) => messages.next(signal),
    left: () => messages.left(),
    [Symbol.dispose]: () => void stdin.destroy(),
  };
}

/** How long messages of a pipe are waited for that are only counted, in milliseconds: its writer may never end. */
const COUNT_MS = 200;
/** Messages that are counted at most: a pipe may be endless. */
export const COUNTED = 10_000;

class PipedMessages {
  readonly #lines: AsyncGenerator<string>;
  /** A line that is read. It is kept if its reader was not waited for. */
  #reading: Promise<IteratorResult<string>> | undefined;

  constructor(stdin: NodeJS.ReadStream) {
    this.#lines = readLines(stdin as AsyncIterable<Uint8Array>, MESSAGE_BYTES);
  }

  async next(signal: AbortSignal): Promise<string | undefined> {
    const aborted = Promise.withResolvers<undefined>();
    const onAbort = () => aborted.resolve(undefined);
    signal.addEventListener("abort", onAbort);
    try {
      return signal.aborted ? undefined : await this.#message(aborted.promise);
    } catch (error) {
      if (!PortcullisError.is(error)) throw error;
      throw new Failure(
        EXIT.usage,
        `A message on standard input is longer than ${MESSAGE_BYTES} bytes, or is not UTF-8. Each line is a message.`,
        { cause: error },
      );
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async left(): Promise<number> {
    let left = 0;
    try {
      while (left < COUNTED && (await this.#message(pause(COUNT_MS, { ref: false }))) !== undefined) left += 1;
    } catch {
      // What is no message is not counted, and nothing behind it.
    }
    return left;
  }

  /** The next line that is not empty; undefined if there is none, or none before `given` resolves. */
  async #message(given: Promise<void>): Promise<string | undefined> {
    for (;;) {
      this.#reading ??= this.#lines.next();
      const line = await Promise.race([this.#reading, given]);
      if (!line) return undefined;
      this.#reading = undefined;
      if (line.done) return undefined;
      if (line.value.trim() !== "") return line.value;
    }
  }
}
