import { frameText } from "../../../bridge/frames.ts";
import { MalformedFrame, parseGuestFrame } from "../../../bridge/parse-frame.ts";
import { type ExecutionId, parsedJson, PortcullisError } from "../../base/index.ts";
import type { AppendOptions, Head, Journal, Lease } from "../journal.ts";
import type { Header, JournalRecord } from "../record.ts";
import type { TextForm } from "../record-schemas.ts";
import { WrappedJournal } from "../wrapped-journal.ts";
import type { Redactor } from "./redactor.ts";

/** Commands of a turn that are joined, in UTF-16 code units: a program that prints more is stopped. */
const JOINED_LENGTH = 16 * 1024 * 1024;

/**
 * A journal that takes out of records what a runtime's `redact` finds. A changed record says how many characters it lost. A
 * record that a program is run or given from, and from nothing else, is refused in place of that.
 */
export class RedactingJournal extends WrappedJournal {
  readonly #redactor: Redactor;
  /** Open executions of which a record was changed. */
  readonly #changed = new Set<ExecutionId>();

  constructor(journal: Journal, redactor: Redactor) {
    super(journal);
    this.#redactor = redactor;
  }

  wasRedacted(execution: ExecutionId): boolean {
    return this.#changed.has(execution);
  }

  override async create(header: Header, lease?: Lease): Promise<Head> {
    // Without a lease, another driver runs what the journal holds.
    return this.store.create((await this.#redacted(header.execution, header, !lease)) as Header, lease);
  }

  override async append(
    execution: ExecutionId,
    expected: Head,
    records: readonly JournalRecord[],
    options?: AppendOptions,
  ): Promise<Head> {
    const redacted: JournalRecord[] = [];
    for (const record of records) redacted.push(await this.#redacted(execution, record));
    const head = await this.store.append(execution, expected, redacted, options);
    if (records.some(({ type }) => type === "outcome")) this.#changed.delete(execution);
    return head;
  }

  async #redacted(execution: ExecutionId, record: JournalRecord, isRun = false): Promise<JournalRecord> {
    const changes: Record<string, unknown> = {};
    let count = 0;
    // Loaded on demand: loading the schema library takes as long as running a program.
    const { REDACTED_FIELDS } = await import("../record-schemas.ts");
    const type = record.type === "header" ? (`header (${record.kind})` as const) : record.type;
    for (const [field, reading] of REDACTED_FIELDS[type]) {
      const value = (record as unknown as Readonly<Record<string, unknown>>)[field];
      const list = Array.isArray(value) ? (value as readonly string[]) : [value as string | undefined];
      const texts = reading === "frame" && Array.isArray(value) ? await this.#withWholeOutput(value) : list;
      const redacted: unknown[] = [];
      for (const text of texts) {
        const one = typeof text === "string" ? await this.#field(text, reading, record) : { text, count: 0 };
        count += one.count;
        redacted.push(one.text);
      }
      if (value !== undefined) changes[field] = Array.isArray(value) ? redacted : redacted[0];
    }
    if (count === 0) return record;
    if (isRun || (await this.#isGiven(execution, record, changes)))
      throw new PortcullisError(
        "journal_redacted",
        `Nothing was noted: \`redact\` takes ${count} characters out of it, and the program would be run or given with what is left. A call still waits: answer it without them, or with an error. A program that is submitted can get such values from a tool.`,
      );
    this.#changed.add(execution);
    const bytes = record.type === "artifact" ? { bytes: Buffer.byteLength(String(changes["value"])) } : {};
    return { ...record, ...changes, ...bytes, redacted: count } as JournalRecord;
  }

  /** Whether a program would be given what is left of a value from outside. What a model is given is redacted for it too. */
  async #isGiven(execution: ExecutionId, record: JournalRecord, changes: Readonly<Record<string, unknown>>) {
    const isChanged =
      (record.type === "result" && record.value !== changes["value"]) ||
      (record.type === "decision" && record.done !== changes["done"]);
    return isChanged && (await this.store.find(execution)).kind !== "conversation";
  }

  /** Commands in which what was printed in pieces stands in one frame: a secret may be cut by the end of a piece. */
  async #withWholeOutput(commands: readonly string[]): Promise<readonly string[]> {
    const whole: { readonly command: string; readonly output: Output | undefined; readonly texts: string[] }[] = [];
    let remaining = JOINED_LENGTH;
    for (const command of commands) {
      await this.#redactor.pace.rest();
      remaining -= command.length;
      const output = remaining < 0 ? undefined : outputOf(command);
      const last = whole.at(-1);
      if (output && output.dropped === 0 && output.stream === last?.output?.stream) last.texts.push(output.text);
      else whole.push({ command, output, texts: output ? [output.text] : [] });
    }
    return whole.map(({ command, output, texts }) =>
      output && texts.length > 1 ? frameText({ ...output.frame, body: JSON.stringify(texts.join("")) }) : command,
    );
  }

  async #field(text: string, reading: TextForm, record: JournalRecord) {
    const about = { to: "journal", ...callOf(record) } as const;
    if (reading === "words") return this.#redactor.text(text, about);
    const end = reading === "frame" ? text.indexOf("\n") : -1;
    const first = end === -1 ? text : text.slice(0, end);
    const head =
      reading === "frame" && OWN_HEAD.test(first) ? { text: first, count: 0 } : await this.#redactor.json(first, about);
    if (end === -1) return head;
    const body = await this.#redactor.json(text.slice(end + 1), about);
    return { text: `${head.text}\n${body.text}`, count: head.count + body.count };
  }
}

/** A frame, or the head of one, in which a program has no words. */
const OWN_HEAD = /^\{"kind":"[a-z_]{1,20}"(?:,"[a-z]{1,20}":(?:\d{1,16}|true|false))*\}$/;

type Output = NonNullable<ReturnType<typeof outputOf>>;

function outputOf(command: string) {
  const frame = command.startsWith('{"kind":"output"') ? parseGuestFrame(command) : undefined;
  if (!frame || frame instanceof MalformedFrame || frame.kind !== "output") return undefined;
  const text = parsedJson(frame.body);
  return typeof text === "string" ? { frame, text, stream: frame.stream, dropped: frame.dropped } : undefined;
}

function callOf(record: JournalRecord): { readonly tool?: string; readonly callId?: string } {
  return {
    ...("tool" in record && typeof record.tool === "string" && { tool: record.tool }),
    ...("call" in record && record.call !== undefined && { callId: record.call }),
  };
}

/** The journal that holds the records. Runtimes that share a store each have a `redact` of their own. */
export function storeOf(journal: Journal): Journal {
  return journal.store ? storeOf(journal.store) : journal;
}

/** The journal without what redacts its records. */
export function plainStore(journal: Journal): Journal {
  return journal instanceof RedactingJournal ? journal.store : journal;
}

/** Whether records of an execution that goes on differ from what happened, because they were redacted. */
export function wasRedacted(journal: Journal, execution: ExecutionId): boolean {
  return journal instanceof RedactingJournal && journal.wasRedacted(execution);
}
