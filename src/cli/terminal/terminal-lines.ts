import { createInterface, type Interface, type Key } from "node:readline";
import { nextTurn } from "../../base/index.ts";

/** Terminals that know it put marks around what is pasted. */
const PASTES_ON = "\u001b[?2004h";
const PASTES_OFF = "\u001b[?2004l";

/** What a person answers to a question. */
export type Answer =
  | { readonly type: "line"; readonly text: string }
  /** The terminal's input has ended. */
  | { readonly type: "ended" }
  /** The answer is not waited for any more. */
  | { readonly type: "withdrawn" };

/** Where a question gets its answers from. */
export interface AnswerLines {
  readonly hasEnded: boolean;
  /** Discards what was typed before a question: it cannot answer what the person had not read. */
  discardTyped(): Promise<void>;
  /** Writes the question, and resolves with the next line. */
  ask(question: string, signal: AbortSignal): Promise<Answer>;
}

/**
 * Lines that the person types. The terminal is not read before the first question, so that a command in the background is
 * not stopped. The system's terminal driver edits the lines and turns Ctrl-C into SIGINT. With `onInterrupt`, node's
 * readline edits them where a terminal can move its cursor, and Ctrl-C is a key: it discards a line that was begun, or is
 * passed on; the result says whether an open question is asked again.
 */
export class TerminalLines implements AnswerLines, Disposable {
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #onInterrupt: (() => boolean) | undefined;
  readonly #lines: string[] = [];
  #reader: Interface | undefined;
  #isAsking = false;
  #isPasting = false;
  /** The lines of a paste that have ended: a paste is part of one line. */
  #pasted = "";
  #hasEnded = false;
  #wake: (() => void) | undefined;

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, onInterrupt?: () => boolean) {
    this.#input = input;
    this.#output = output;
    this.#onInterrupt = output.isTTY && process.env["TERM"] !== "dumb" ? onInterrupt : undefined;
  }

  get hasEnded(): boolean {
    return this.#input.readableEnded || (this.#hasEnded && this.#lines.length === 0);
  }

  async discardTyped(): Promise<void> {
    const isFirst = this.#reader === undefined;
    this.#reader ??= this.#read();
    // What the terminal holds arrives in the turns after the first reading.
    for (let turns = isFirst ? 2 : 0; turns > 0; turns -= 1) await nextTurn();
    this.#discardBegun(this.#reader);
    this.#lines.length = 0;
  }

  async ask(question: string, signal: AbortSignal): Promise<Answer> {
    const reader = (this.#reader ??= this.#read());
    const wake = () => this.#wake?.();
    signal.addEventListener("abort", wake);
    // A question that is open keeps the process alive; the terminal alone does not.
    this.#input.ref();
    this.#isAsking = true;
    if (!this.#onInterrupt) this.#output.write(question);
    reader.setPrompt(question);
    // What was typed early was shown when it was typed.
    if (this.#onInterrupt && this.#lines.length === 0) reader.prompt(true);
    try {
      for (;;) {
        if (signal.aborted) return { type: "withdrawn" };
        const text = this.#lines.shift();
        if (text !== undefined) return { type: "line", text };
        if (this.#hasEnded) return { type: "ended" };
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#isAsking = false;
      this.#input.unref();
      signal.removeEventListener("abort", wake);
    }
  }

  [Symbol.dispose](): void {
    this.#reader?.close();
  }

  #read(): Interface {
    const reader = this.#onInterrupt
      ? this.#edit(this.#onInterrupt)
      : createInterface({ input: this.#input, terminal: false });
    reader.on("line", (line) => {
      this.#pasted += line;
      if (this.#isPasting) return void (this.#pasted += "\n");
      this.#lines.push(this.#pasted);
      this.#pasted = "";
      this.#wake?.();
    });
    reader.on("close", () => {
      this.#hasEnded = true;
      this.#wake?.();
    });
    return reader;
  }

  #edit(onInterrupt: () => boolean): Interface {
    const output = this.#output;
    const reader = createInterface({ input: this.#input, output, terminal: true });
    reader.on("SIGINT", () => {
      this.#lines.length = 0;
      if (this.#discardBegun(reader) && this.#isAsking) return;
      if (onInterrupt() && this.#isAsking) reader.prompt();
    });
    this.#input.on("keypress", (_: unknown, { name }: Key) => {
      if (name === "paste-start" || name === "paste-end") this.#isPasting = name === "paste-start";
    });
    const end = () => {
      process.off("exit", end);
      output.write(PASTES_OFF);
    };
    output.write(PASTES_ON);
    reader.once("close", end);
    // A command that fails ends its process without disposing of what it holds.
    process.once("exit", end);
    return reader;
  }

  /** Returns whether a line was begun. */
  #discardBegun(reader: Interface): boolean {
    const hasBegun = reader.line !== "" || this.#pasted !== "";
    this.#pasted = "";
    if (reader.line !== "") for (const name of ["e", "u"]) reader.write(null, { ctrl: true, name });
    return hasBegun;
  }
}
