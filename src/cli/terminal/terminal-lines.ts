import { createInterface, type Interface } from "node:readline";
import { setImmediate } from "node:timers/promises";

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
  next(signal: AbortSignal): Promise<Answer>;
}

/** Lines that the person types. The terminal is not read before the first question, so that a command in the background is not stopped. */
export class TerminalLines implements AnswerLines {
  readonly #input: NodeJS.ReadStream;
  readonly #lines: string[] = [];
  #reader: Interface | undefined;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  constructor(input: NodeJS.ReadStream) {
    this.#input = input;
  }

  get hasEnded(): boolean {
    return this.#input.readableEnded || (this.#hasEnded && this.#lines.length === 0);
  }

  async discardTyped(): Promise<void> {
    const isFirst = this.#reader === undefined;
    this.#reader ??= this.#read();
    // What the terminal holds arrives in the turns after the first reading.
    for (let turns = isFirst ? 2 : 0; turns > 0; turns -= 1) await setImmediate();
    this.#lines.length = 0;
  }

  async next(signal: AbortSignal): Promise<Answer> {
    this.#reader ??= this.#read();
    const wake = () => this.#wake?.();
    signal.addEventListener("abort", wake);
    // A question that is open keeps the process alive; the terminal alone does not.
    this.#input.ref();
    try {
      for (;;) {
        if (signal.aborted) return { type: "withdrawn" };
        const text = this.#lines.shift();
        if (text !== undefined) return { type: "line", text: text.trim() };
        if (this.#hasEnded) return { type: "ended" };
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#input.unref();
      signal.removeEventListener("abort", wake);
    }
  }

  close(): void {
    this.#reader?.close();
  }

  #read(): Interface {
    // Without `terminal`, the system's terminal driver edits the line and turns Ctrl-C into SIGINT.
    const reader = createInterface({ input: this.#input, terminal: false });
    reader.on("line", (line) => {
      this.#lines.push(line);
      this.#wake?.();
    });
    reader.on("close", () => {
      this.#hasEnded = true;
      this.#wake?.();
    });
    return reader;
  }
}
