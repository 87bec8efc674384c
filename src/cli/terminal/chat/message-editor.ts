import { createInterface, type Completer, type Interface } from "node:readline";
import { PassThrough, Writable } from "node:stream";
import { cleanText } from "../../../output/clean-text.ts";
import type { Answer, AnswerLines } from "../terminal-lines.ts";
import { textOfLine, TypedInput } from "./typed-input.ts";

const PASTES_ON = "\u001b[?2004h";
const PASTES_OFF = "\u001b[?2004l";
/** Messages that the up arrow finds. */
const HISTORY = 500;

export interface MessageEditorOptions {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly completer: Completer;
  /** Earlier messages, the latest first. */
  readonly history: readonly string[];
  /** Called for each Ctrl-C, with whether a line that was begun was thrown away by it. */
  readonly onInterrupt: (hasDiscarded: boolean) => unknown;
}

/**
 * Reads messages and answers of the person at a terminal. Node's readline edits the messages, and keeps them for the up
 * arrow while this lives. The terminal is raw all the time: Ctrl-C is a key, and nothing that is typed is shown before it
 * is asked for.
 */
export class MessageEditor implements AnswerLines, Disposable {
  readonly #options: MessageEditorOptions;
  readonly #typed: TypedInput;
  readonly #keys: PassThrough;
  readonly #readline: Interface;
  /** What is read now: a message, or an answer so far; undefined if nothing is asked. */
  #reading: "message" | { answer: string } | undefined;
  /** What a message is asked for with. */
  #prompt = "";
  /** Whether the cursor stands at the left edge, below a prompt that was left. */
  #isAtEdge = false;
  /** Whether the editor has been given keys that it has not read yet. */
  #isFed = false;
  #settle: ((answer: Answer) => void) | undefined;
  #hasEnded = false;

  constructor(options: MessageEditorOptions) {
    const { input, output, completer, history } = options;
    this.#options = options;
    this.#typed = new TypedInput(() => this.#interrupt());
    this.#keys = Object.assign(new PassThrough(), {
      setRawMode: (mode: boolean) => input.setRawMode(mode),
    });
    const shown = new Writable({
      write: (chunk: Buffer, _, done) => {
        if (this.#reading === "message") output.write(chunk);
        done();
      },
    });
    Object.defineProperty(shown, "columns", { get: () => output.columns });
    Object.defineProperty(shown, "rows", { get: () => output.rows });
    output.on("resize", () => shown.emit("resize"));
    this.#readline = createInterface({
      input: this.#keys,
      output: shown,
      terminal: true,
      completer,
      history: [...history],
      historySize: HISTORY,
      removeHistoryDuplicates: true,
    });
    this.#readline.on("line", (line) => this.#settled({ type: "line", text: textOfLine(line) }));
    this.#readline.on("close", () => this.#end());
    input.on("data", this.#onData);
    input.on("end", this.#onEnd);
    output.write(PASTES_ON);
    // A command that fails ends its process without disposing of what it holds.
    process.once("exit", this.#restore);
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Reads a message, line by line while a line ends with a backslash. */
  async message(prompt: string, more: string, signal: AbortSignal): Promise<Answer> {
    let text = "";
    for (;;) {
      this.#prompt = text === "" ? prompt : more;
      const answer = await this.#read("message", signal, () => this.#ask());
      if (answer.type !== "line") return answer;
      text += answer.text;
      if (!text.endsWith("\\")) return { type: "line", text };
      text = `${text.slice(0, -1)}\n`;
    }
  }

  #ask(): void {
    if (this.#reading !== "message") return;
    this.#readline.setPrompt(this.#prompt);
    this.#readline.prompt(true);
  }

  async discardTyped(): Promise<void> {
    this.#typed.discard();
  }

  /** Reads the answer to a question that was written. It is not kept for the up arrow. */
  next(signal: AbortSignal): Promise<Answer> {
    return this.#read({ answer: "" }, signal, () => {});
  }

  [Symbol.dispose](): void {
    const { input } = this.#options;
    input.off("data", this.#onData);
    input.off("end", this.#onEnd);
    this.#readline.close();
    input.setRawMode(false);
    input.pause();
    process.off("exit", this.#restore);
    this.#restore();
  }

  readonly #restore = (): void => void this.#options.output.write(PASTES_OFF);

  readonly #onData = (chunk: Buffer): void => {
    this.#typed.take(chunk);
    this.#feed();
  };

  readonly #onEnd = (): void => this.#end();

  #end(): void {
    this.#hasEnded = true;
    this.#settled({ type: "ended" });
  }

  async #read(reading: "message" | { answer: string }, signal: AbortSignal, begin: () => void): Promise<Answer> {
    if (signal.aborted) return { type: "withdrawn" };
    if (this.#hasEnded) return { type: "ended" };
    const withdraw = () => this.#settled({ type: "withdrawn" });
    signal.addEventListener("abort", withdraw);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#settle = resolve;
    this.#reading = reading;
    begin();
    this.#feed();
    try {
      return await promise;
    } finally {
      signal.removeEventListener("abort", withdraw);
    }
  }

  #settled(answer: Answer): void {
    // What is edited when nothing more is read is no message. What follows stands below it.
    if (answer.type !== "line" && this.#reading === "message" && !this.#isAtEdge) this.#options.output.write("\n");
    this.#reading = undefined;
    this.#settle?.(answer);
    this.#settle = undefined;
  }

  /** Gives what is typed to what reads it, one line at most. */
  #feed(): void {
    if (this.#reading === undefined || this.#isFed) return;
    const text = this.#typed.upToLine();
    if (text === "") return;
    if (this.#reading !== "message") return this.#answer(this.#reading, text);
    this.#isFed = true;
    this.#keys.write(text);
    setImmediate(() => {
      this.#isFed = false;
      this.#feed();
    });
  }

  /** Edits the answer to a question: characters, and backspace. */
  #answer(reading: { answer: string }, text: string): void {
    const { output } = this.#options;
    for (const character of text) {
      if (character === "\r" || character === "\n") {
        output.write("\n");
        return this.#settled({ type: "line", text: reading.answer.trim() });
      }
      if (character === "\u0004" && reading.answer === "") return this.#settled({ type: "ended" });
      if (character === "\u007f" || character === "\b") {
        if (reading.answer !== "") output.write("\b \b");
        reading.answer = reading.answer.slice(0, -1);
      } else if (character >= " " && cleanText(character) === character) {
        reading.answer += character;
        output.write(character);
      }
    }
  }

  #interrupt(): void {
    if (this.#reading !== "message") return void this.#options.onInterrupt(false);
    if (this.#readline.line !== "") {
      this.#readline.write(null, { ctrl: true, name: "e" });
      this.#readline.write(null, { ctrl: true, name: "u" });
      return void this.#options.onInterrupt(true);
    }
    // What is told stands in a line of its own, and the person is asked again below it.
    this.#options.output.write("\n");
    this.#isAtEdge = true;
    this.#options.onInterrupt(false);
    this.#isAtEdge = false;
    this.#ask();
  }
}
