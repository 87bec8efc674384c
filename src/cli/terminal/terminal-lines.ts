import { addAbortListener } from "node:events";
import { createInterface, type Interface, type Key } from "node:readline";
import { nextTurn } from "../../base/index.ts";

/** Terminals that know it put marks around what is pasted. */
const PASTES_ON = "\u001b[?2004h";
const PASTES_OFF = "\u001b[?2004l";

/** What a person answers to a question. */
export type TypedAnswer =
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
  ask(question: string, signal: AbortSignal): Promise<TypedAnswer>;
}

interface Typed {
  readonly lines: string[];
  /** The lines of a paste that have ended: a paste is part of one line. */
  pasted: string;
  isPasting: boolean;
  isAsking: boolean;
  isClosed: boolean;
  wake: () => void;
}

/** Returns whether a line was begun. */
function discardBegun(typed: Typed, reader: Interface): boolean {
  const hasBegun = reader.line !== "" || typed.pasted !== "";
  typed.pasted = "";
  if (reader.line !== "") for (const name of ["e", "u"]) reader.write(null, { ctrl: true, name });
  return hasBegun;
}

function openEditor(
  typed: Typed,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  onInterrupt: () => boolean,
): Interface {
  const reader = createInterface({ input, output, terminal: true });
  reader.on("SIGINT", () => {
    typed.lines.length = 0;
    if (discardBegun(typed, reader) && typed.isAsking) return;
    if (onInterrupt() && typed.isAsking) reader.prompt();
  });
  input.on("keypress", (_: unknown, { name }: Key) => {
    if (name === "paste-start" || name === "paste-end") typed.isPasting = name === "paste-start";
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

function takeLines(typed: Typed, reader: Interface): Interface {
  reader.on("line", (line) => {
    typed.pasted += line;
    if (typed.isPasting) return void (typed.pasted += "\n");
    typed.lines.push(typed.pasted);
    typed.pasted = "";
    typed.wake();
  });
  reader.on("close", () => {
    typed.isClosed = true;
    typed.wake();
  });
  return reader;
}

/** The next line, once it is typed. */
async function nextLine(typed: Typed, signal: AbortSignal): Promise<TypedAnswer> {
  for (;;) {
    if (signal.aborted) return { type: "withdrawn" };
    const text = typed.lines.shift();
    if (text !== undefined) return { type: "line", text };
    if (typed.isClosed) return { type: "ended" };
    await new Promise<void>((resolve) => (typed.wake = resolve));
  }
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
  const typed: Typed = {
    lines: [],
    pasted: "",
    isPasting: false,
    isAsking: false,
    isClosed: false,
    wake: () => {},
  };
  const open = () =>
    onInterrupt ? openEditor(typed, input, output, onInterrupt) : createInterface({ input, terminal: false });
  let opened: Interface | undefined;
  return {
    get hasEnded() {
      return input.readableEnded || (typed.isClosed && typed.lines.length === 0);
    },
    async discardTyped() {
      const isFirst = opened === undefined;
      const reader = (opened ??= takeLines(typed, open()));
      // What the terminal holds arrives in the turns after the first reading.
      for (let turns = isFirst ? 2 : 0; turns > 0; turns -= 1) await nextTurn();
      discardBegun(typed, reader);
      typed.lines.length = 0;
    },
    async ask(question, signal) {
      const reader = (opened ??= takeLines(typed, open()));
      using _ = addAbortListener(signal, () => typed.wake());
      // A question that is open keeps the process alive; the terminal alone does not.
      input.ref();
      typed.isAsking = true;
      if (!onInterrupt) output.write(question);
      reader.setPrompt(question);
      // What was typed early was shown when it was typed.
      if (onInterrupt && typed.lines.length === 0) reader.prompt(true);
      try {
        return await nextLine(typed, signal);
      } finally {
        typed.isAsking = false;
        input.unref();
      }
    },
    [Symbol.dispose]: () => opened?.close(),
  };
}
