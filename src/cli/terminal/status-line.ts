import { cancel, every, monotonic, type Timer } from "../../clock.ts";
import { fitLine } from "./one-line.ts";
import { Screen } from "./screen.ts";
import { hasBegunLine, hideBeforeWriting, standardStreams, watchWrites, writeDrawn } from "./standard-streams.ts";
import { movesCursor, plainText, shapeOf } from "./terminal-shape.ts";

/** How often the line is drawn, in milliseconds. Work that takes less shows nothing. */
const DRAW_MS = 100;
const CLEAR = "\r\u001b[2K";
/** Columns of a terminal that does not tell its width. */
const COLUMNS = 80;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface StatusLine extends Disposable {
  /** Draws the line now; its text has changed. */
  draw(): void;
  /** Removes the line for now: something else is about to be written. */
  hide(): void;
}

/** The text of the line; empty for none. `took` is the time since it was first shown, like `1.2 s`. */
type LineOf = (took: string) => string;

interface Where {
  readonly stream?: NodeJS.WriteStream;
  readonly screen?: Screen;
}

/** The lines of this process. The last one is drawn: work may show a line of its own within other work. */
const lines: Line[] = [];

class Line implements StatusLine {
  readonly #lineOf: LineOf;
  readonly #stream: NodeJS.WriteStream;
  readonly #screen: Screen;
  readonly #since = monotonic();
  readonly #timer: Timer;
  readonly #watching: Disposable;
  #isDrawn = false;

  constructor(lineOf: LineOf, { stream = standardStreams().stderr, screen = new Screen() }: Where) {
    this.#lineOf = lineOf;
    this.#stream = stream;
    this.#screen = screen;
    this.#timer = every(DRAW_MS, () => this.draw()).unref();
    // Before the listeners that end the work: those that are left tell whether the signal is to end the process.
    for (const name of SIGNALS) process.prependOnceListener(name, this.#onSignal);
    process.prependOnceListener("exit", this.#end);
    this.#watching = watchWrites(stream, screen);
    lines.push(this);
  }

  draw(): void {
    if (this.#screen.isTaken || hasBegunLine() || lines.at(-1) !== this) return;
    const took = `${((monotonic() - this.#since) / 1000).toFixed(1)} s`;
    const columns = this.#stream.columns > 0 ? this.#stream.columns : COLUMNS;
    const text = fitLine(this.#lineOf(took), Math.max(20, columns - 1));
    if (text === "") return this.hide();
    writeDrawn(this.#stream, `${CLEAR}${shapeOf(this.#stream).isPlain ? plainText(text) : text}`);
    this.#isDrawn = true;
  }

  hide(): void {
    // A question has removed it, and has the terminal.
    if (this.#isDrawn && !this.#screen.isTaken) writeDrawn(this.#stream, CLEAR);
    this.#isDrawn = false;
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  readonly #end = (): void => {
    cancel(this.#timer);
    for (const name of SIGNALS) process.off(name, this.#onSignal);
    process.off("exit", this.#end);
    this.hide();
    this.#watching[Symbol.dispose]();
    const at = lines.indexOf(this);
    if (at >= 0) lines.splice(at, 1);
  };

  readonly #onSignal = (name: NodeJS.Signals): void => {
    this.#end();
    // With this listener, the signal has not ended the process.
    if (process.listenerCount(name) === 0) process.kill(process.pid, name);
  };
}

const NOTHING: StatusLine = { draw: () => {}, hide: () => {}, [Symbol.dispose]: () => {} };

/**
 * Shows on a terminal, in one line that changes, what work is doing, until it is disposed of; elsewhere nothing. Whatever
 * else the command writes takes the line's place. Nothing of it is left when the work ends, fails, or is ended by a signal.
 */
export function statusLine(lineOf: LineOf, where: Where = {}): StatusLine {
  const { stream = standardStreams().stderr } = where;
  return movesCursor(stream) ? new Line(lineOf, where) : NOTHING;
}

/** Does work, and shows meanwhile what it is and how long it has taken. */
export async function showing<Value>(what: string | (() => string), work: () => Promise<Value>): Promise<Value> {
  using _ = statusLine((took) => `${typeof what === "string" ? what : what()}, ${took}`);
  return await work();
}

/** Removes all lines: the command has ended, and its work may never do. */
export function endStatusLines(): void {
  for (const line of lines.toReversed()) line[Symbol.dispose]();
}

hideBeforeWriting(() => lines.at(-1)?.hide());
