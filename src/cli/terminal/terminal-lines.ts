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
 * not stopped. The system's terminal driver edits the lines and turns Ctrl-C into SIGINT. With `interrupt`, node's
 * readline edits them where a terminal can move its cursor, and Ctrl-C is a key: it discards a line that was begun, or is
 * passed on; the result says whether an open question is asked again.
 */
export function terminalLines(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  interrupt?: () => boolean,
): AnswerLines & Disposable {
  const onInterrupt = output.isTTY && process.env["TERM"] !== "dumb" ? interrupt : undefined;
  const lines: string[] = [];
  let opened: Interface | undefined;
  let isAsking = false;
  let isPasting = false;
  /** The lines of a paste that have ended: a paste is part of one line. */
  let pasted = "";
  let isClosed = false;
  let wake = () => {};

  /** Returns whether a line was begun. */
  const discardBegun = (reader: Interface): boolean => {
    const hasBegun = reader.line !== "" || pasted !== "";
    pasted = "";
    if (reader.line !== "") for (const name of ["e", "u"]) reader.write(null, { ctrl: true, name });
    return hasBegun;
  };
  const edit = (interrupted: () => boolean): Interface => {
    const reader = createInterface({ input, output, terminal: true });
    reader.on("SIGINT", () => {
      lines.length = 0;
      if (discardBegun(reader) && isAsking) return;
      if (interrupted() && isAsking) reader.prompt();
    });
    input.on("keypress", (_: unknown, { name }: Key) => {
      if (name === "paste-start" || name === "paste-end") isPasting = name === "paste-start";
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
  };
  const read = (): Interface => {
    const reader = onInterrupt ? edit(onInterrupt) : createInterface({ input, terminal: false });
    reader.on("line", (line) => {
      pasted += line;
      if (isPasting) return void (pasted += "\n");
      lines.push(pasted);
      pasted = "";
      wake();
    });
    reader.on("close", () => {
      isClosed = true;
      wake();
    });
    return reader;
  };
  return {
    get hasEnded() {
      return input.readableEnded || (isClosed && lines.length === 0);
    },
    async discardTyped() {
      const isFirst = opened === undefined;
      const reader = (opened ??= read());
      // What the terminal holds arrives in the turns after the first reading.
      for (let turns = isFirst ? 2 : 0; turns > 0; turns -= 1) await nextTurn();
      discardBegun(reader);
      lines.length = 0;
    },
    async ask(question, signal) {
      const reader = (opened ??= read());
      const onAbort = () => wake();
      signal.addEventListener("abort", onAbort);
      // A question that is open keeps the process alive; the terminal alone does not.
      input.ref();
      isAsking = true;
      if (!onInterrupt) output.write(question);
      reader.setPrompt(question);
      // What was typed early was shown when it was typed.
      if (onInterrupt && lines.length === 0) reader.prompt(true);
      try {
        for (;;) {
          if (signal.aborted) return { type: "withdrawn" };
          const text = lines.shift();
          if (text !== undefined) return { type: "line", text };
          if (isClosed) return { type: "ended" };
          await new Promise<void>((resolve) => (wake = resolve));
        }
      } finally {
        isAsking = false;
        input.unref();
        signal.removeEventListener("abort", onAbort);
      }
    },
    [Symbol.dispose]: () => opened?.close(),
  };
}
