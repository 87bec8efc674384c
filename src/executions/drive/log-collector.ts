import type { Logs } from "../outcome.ts";
import { endsOf, type Measurements, occurrences, readPlainData, sumOf } from "../../base/index.ts";
import type { Limits } from "../limits.ts";

/** An output frame as read. `overflow`: more than an honest guest sends. `malformed`: the body is not a JSON string. */
type PrintedFrame = { readonly type: "text"; readonly text: string } | { readonly type: "overflow" | "malformed" };

const ESCAPE_LENGTH = 6;
/** JSON that begins with a quotation mark is one text, or malformed: there is nothing in it to measure. */
const TEXT: Measurements = { depth: 0, values: 1 };
/** Longest line that is shown whole in a log that is too long, as UTF-8. */
const LINE_BYTES = 16_384;

/**
 * Collects a guest's output, and shows at most `logBytes` from its start and `logBytes` from its end. An honest guest sends
 * at most `printedBytes`, and `logBytes` from the end of what it then leaves out; more is detected here.
 * Beside what a guest may send, there is room for the marks of shortened lines.
 */
export function logCollector({ logBytes, printedBytes }: Pick<Limits, "logBytes" | "printedBytes">) {
  const allowedBytes = Math.max(printedBytes, logBytes) + logBytes + 1024;
  const stretches: { readonly dropped: number; readonly parts: string[] }[] = [];
  let lines = 0;

  function add(text: string, dropped: number): void {
    // An honest guest sends no empty text. It counts as one byte, so that a guest cannot send it without end.
    self.bytes += Buffer.byteLength(markOf(dropped)) + Buffer.byteLength(text) || 1;
    if (!Number.isSafeInteger(lines + dropped)) self.bytes = Number.MAX_SAFE_INTEGER;
    if (self.overflowed) return;
    const latest = stretches.at(-1);
    if (latest && dropped === 0) latest.parts.push(text);
    else stretches.push({ dropped, parts: [text] });
    lines += dropped + linesIn(text);
  }
  const self = {
    bytes: 0,

    get overflowed(): boolean {
      return self.bytes > allowedBytes;
    },

    take({ body, dropped }: { readonly body: string; readonly dropped: number }): PrintedFrame {
      if (!body.startsWith('"')) return { type: "malformed" };
      // A text whose JSON is that long must exceed the bound: it is counted here and need not be parsed.
      const minBytes = Math.ceil((body.length - 2) / ESCAPE_LENGTH);
      if (self.bytes + minBytes > allowedBytes) {
        self.bytes += minBytes;
        return { type: "overflow" };
      }
      const read = readPlainData(body, 1, TEXT);
      if (!read.ok || typeof read.value !== "string") return { type: "malformed" };
      add(read.value, dropped);
      return self.overflowed ? { type: "overflow" } : { type: "text", text: read.value };
    },
    add,

    get shown(): ShownLogs {
      return shownLogs(
        stretches.map(({ dropped, parts }) => ({ dropped, text: parts.join("") })),
        logBytes,
      );
    },
  };
  return self;
}

export type LogCollector = ReturnType<typeof logCollector>;

/** A part of what was printed, as the guest has sent it. */
export interface Stretch {
  /** Lines that the guest has left out before it. */
  readonly dropped: number;
  readonly text: string;
}

export interface ShownLogs {
  readonly logs: Logs;
  /** All that is kept, if `logs` has less. */
  readonly printed: readonly Stretch[] | undefined;
}

/** What is shown of what was printed: all of it, or both ends, each within `logBytes`. */
export function shownLogs(stretches: readonly Stretch[], logBytes: number): ShownLogs {
  const text = printedText(stretches);
  const bytes = Buffer.byteLength(text);
  const dropCount = sumOf(stretches, ({ dropped }) => dropped);
  const lines = dropCount + sumOf(stretches, (stretch) => linesIn(stretch.text));
  const marks = stretches.filter(({ dropped }) => dropped > 0).length;
  if (bytes <= logBytes * 2 + marks * MARK_BYTES)
    return { logs: { text, lines, bytes, dropped: dropCount }, printed: undefined };
  const { head, tail, shown } = bothEndsOf(stretches, logBytes);
  const dropped = lines - shown;
  const ends = `${head}${markOf(dropped)}${tail}`;
  return { logs: { text: ends, lines, bytes: Buffer.byteLength(ends), dropped }, printed: stretches };
}

/** All of it in one text, with a mark where lines are missing. */
export function printedText(stretches: readonly Stretch[]): string {
  return stretches.map(({ dropped, text }) => markOf(dropped) + text).join("");
}

const MARK_BYTES = 48;

function markOf(dropped: number): string {
  return dropped > 0 ? `… ${dropped} ${dropped === 1 ? "line" : "lines"} left out …\n` : "";
}

function linesIn(text: string): number {
  return occurrences(text, "\n").reduce((lines) => lines + 1, 0);
}

/** The first and the last lines, each within `logBytes`, and the number of their lines. Nothing after a gap is first, and nothing before one is last. */
function bothEndsOf(stretches: readonly Stretch[], logBytes: number) {
  const longest = Math.min(LINE_BYTES, Math.max(0, logBytes - 64));
  const firstStretch = stretches[0];
  const lastStretch = stretches.at(-1);
  let shown = 0;
  let head = "";
  let room = logBytes;
  const first = firstStretch?.dropped === 0 ? firstStretch.text : "";
  let from = 0;
  while (from < first.length) {
    const end = first.indexOf("\n", from) + 1 || first.length;
    const line = shortLine(first.slice(from, end), longest);
    room -= Buffer.byteLength(line);
    if (room < 0) break;
    head += line;
    shown += linesIn(line);
    from = end;
  }
  const last = lastStretch?.text ?? "";
  const until = stretches.length === 1 ? from : 0;
  const tail: string[] = [];
  room = logBytes;
  for (let end = last.length; end > until;) {
    const start = end < 2 ? until : Math.max(until, last.lastIndexOf("\n", end - 2) + 1);
    const line = shortLine(last.slice(start, end), longest);
    room -= Buffer.byteLength(line);
    if (room < 0) break;
    tail.push(line);
    shown += linesIn(line);
    end = start;
  }
  return { head, tail: tail.toReversed().join(""), shown };
}

function shortLine(line: string, longest: number): string {
  if (line.length <= longest && Buffer.byteLength(line) <= longest) return line;
  const text = line.endsWith("\n") ? line.slice(0, -1) : line;
  const { first, between, last } = endsOf(text, longest - 64);
  return `${first}… [${between} characters of this line left out] …${last}${line.slice(text.length)}`;
}
