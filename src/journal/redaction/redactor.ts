import { createHmac, randomBytes } from "node:crypto";
import { after, isAnyObject, Pace, PortcullisError, sumOf } from "../../base/index.ts";
import { type Segment, viewsOf } from "./json-view.ts";
import type { Redact, RedactFinding, RedactRequest } from "./redact-option.ts";

/** Time that a call of `redact` has, in milliseconds. */
const REDACT_MS = 10_000;

export type About = Pick<RedactRequest, "to" | "tool" | "callId">;

interface RedactedText {
  readonly text: string;
  /** Characters that were taken out; 0 if the text is unchanged. */
  readonly count: number;
}

export interface Redaction {
  /** Characters that were taken out of all these texts so far. */
  readonly count: number;
  readonly text: (text: string) => Promise<string>;
  readonly json: (json: string) => Promise<string>;
}

/** Asks a runtime's `redact` about each text that is to leave. A text for which it fails does not leave. Never rejects. */
export class Redactor {
  readonly #redact: Redact;
  readonly #onFailed: (error: unknown) => void;
  readonly #key = randomBytes(32);
  /** There may be many texts, each of which takes no time. */
  readonly pace = new Pace();

  /** `onFailed` tells the operator. */
  constructor(redact: Redact, onFailed: (error: unknown) => void) {
    this.#redact = redact;
    this.#onFailed = onFailed;
  }

  /**
   * The digest of a text that may not leave, given its plain digest. Equal texts have equal digests. The key is secret:
   * from a plain digest, a short text like a pin is found by trying all.
   */
  digest(plain: string): string {
    return createHmac("sha256", this.#key).update(plain).digest("hex");
  }

  async text(text: string, about: About): Promise<RedactedText> {
    if (text === "") return { text, count: 0 };
    const findings = await this.#find({ text, ...about });
    if (!findings) return { text: markOf(text.length, FAILED), count: text.length };
    return { text: replaced(text, 0, findings), count: sizeOf(findings) };
  }

  /** Redacts a text that is JSON, and stays JSON: its names, strings and numbers. */
  async json(json: string, about: About): Promise<RedactedText> {
    const parts: string[] = [];
    const names = new Map<string, number>();
    let [at, count] = [0, 0];
    for await (const { text, segments, fields } of viewsOf(json)) {
      if (segments.length === 0) continue;
      const findings = await this.#find({ text, fields, ...about });
      if (!findings) return { text: JSON.stringify(markOf(json.length, FAILED)), count: json.length };
      count += sizeOf(findings);
      for (const { from, upTo, isName, remainder } of redactedIn(text, segments, findings)) {
        parts.push(json.slice(at, from), JSON.stringify(isName ? distinct(remainder, names) : remainder));
        at = upTo;
      }
    }
    return { text: parts.join("") + json.slice(at), count };
  }

  /** Whether the journal would hold another value than this JSON. Who is to be given the value from there must not be. */
  async changes(json: string): Promise<boolean> {
    return (await this.json(json, { to: "journal" })).count > 0;
  }

  for(about: About): Redaction {
    const counted = async (redacting: Promise<RedactedText>) => {
      const { text, count } = await redacting;
      redaction.count += count;
      return text;
    };
    const redaction = {
      count: 0,
      text: (text: string) => counted(this.text(text, about)),
      json: (json: string) => counted(this.json(json, about)),
    };
    return redaction;
  }

  async value<Value>(value: Value, about: About): Promise<Value> {
    const json = JSON.stringify(value);
    if (json === undefined) return value;
    const { text, count } = await this.json(json, about);
    return count === 0 ? value : (JSON.parse(text) as Value);
  }

  /** Undefined if the function has failed. */
  async #find(request: RedactRequest): Promise<readonly RedactFinding[] | undefined> {
    const { length } = request.text;
    await this.pace.rest();
    const late = Promise.withResolvers<never>();
    using _ = after(REDACT_MS, () => late.reject(failed(`it took longer than ${REDACT_MS} ms`)));
    try {
      const value: unknown = await Promise.race([late.promise, (async () => this.#redact(request))()]);
      return readFindings(value, length);
    } catch (error) {
      this.#onFailed(error);
      return undefined;
    }
  }
}

function sizeOf(findings: readonly RedactFinding[]): number {
  return sumOf(findings, ({ start, end }) => end - start);
}

/** A text that begins at `offset` of the text that was searched, without what was found. */
function replaced(text: string, offset: number, findings: readonly RedactFinding[]): string {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, what } of findings) {
    const from = Math.max(0, start - offset);
    const upTo = Math.min(text.length, end - offset);
    parts.push(text.slice(at, from), markOf(upTo - from, what));
    at = upTo;
  }
  return parts.join("") + text.slice(at);
}

/** The segments of a view with findings, with what is left of each. Both lists are in order, so they are walked once. */
function* redactedIn(view: string, segments: readonly Segment[], findings: readonly RedactFinding[]) {
  let first = 0;
  for (const segment of segments) {
    const { start, end } = segment;
    while (first < findings.length && (findings[first]?.end ?? 0) <= start) first += 1;
    if (first === findings.length) return;
    let last = first;
    while (last < findings.length && (findings[last]?.start ?? 0) < end) last += 1;
    if (last === first) continue;
    yield { ...segment, remainder: replaced(view.slice(start, end), start, findings.slice(first, last)) };
  }
}

/** Names that redaction made equal get a number, so that a record keeps all its fields. */
function distinct(name: string, names: Map<string, number>): string {
  const count = (names.get(name) ?? 0) + 1;
  names.set(name, count);
  return count === 1 ? name : `${name} ${count}`;
}

const MAX_FINDINGS = 100_000;
const WHAT_LENGTH = 40;
/** What a text is for the reader that `redact` gave no finding of. */
const FAILED = "redact failed";

/** The findings, in order and without overlaps. Throws for anything but a list of findings within a text of this length. */
function readFindings(value: unknown, length: number): readonly RedactFinding[] {
  if (!Array.isArray(value)) throw failed("it gave no list");
  if (value.length > MAX_FINDINGS) throw failed(`it found more than ${MAX_FINDINGS} parts of one text`);
  const findings = value.map((one: unknown) => readFinding(one, length));
  const merged: RedactFinding[] = [];
  for (const one of findings.toSorted((left, right) => left.start - right.start)) {
    const last = merged.at(-1);
    if (last && one.start < last.end) merged.splice(-1, 1, { ...last, end: Math.max(last.end, one.end) });
    else merged.push(one);
  }
  return merged;
}

function readFinding(value: unknown, length: number): RedactFinding {
  const { start, end, what } = isAnyObject(value) ? (value as Partial<RedactFinding>) : {};
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || typeof what !== "string")
    throw failed("it gave something that is not { start, end, what }");
  const finding = { start: start as number, end: end as number, what };
  if (finding.start < 0 || finding.start >= finding.end || finding.end > length)
    throw failed("it gave a part that is not in the text");
  return finding;
}

function markOf(characters: number, what: string): string {
  const plain = what.replaceAll(/[^\w .-]/g, "").slice(0, WHAT_LENGTH);
  return `[redacted ${characters} ${characters === 1 ? "character" : "characters"}${plain === "" ? "" : `: ${plain}`}]`;
}

function failed(why: string): PortcullisError {
  return new PortcullisError("callback_failed", `The \`redact\` function failed, so the text was left out: ${why}.`);
}
