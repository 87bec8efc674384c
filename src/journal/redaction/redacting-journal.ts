import { frameText } from "../../../bridge/frames.ts";
import { MalformedFrame, parseGuestFrame } from "../../../bridge/parse-frame.ts";
import { type ExecutionId, parsedJson, PortcullisError } from "../../base/index.ts";
import type {
  Appended,
  AppendOptions,
  ExecutionSummary,
  Head,
  Journal,
  Lease,
  ListOptions,
  ReadOptions,
} from "../journal.ts";
import type { Header, JournalRecord } from "../record.ts";
import type { Redactor } from "./redactor.ts";

/**
 * How a field of a record is read: as text, as JSON, or as a frame of the bridge, whose first line and rest are JSON.
 * An `own` field is left as it is: the runtime or the host wrote it.
 */
type Reading = "text" | "json" | "frame" | "own";

/** The fields of a record that hold text or lists of texts. */
type TextFields<One> = One extends unknown
  ? {
      [
        Field in keyof One as Exclude<One[Field], undefined> extends string | readonly string[] ? Field : never
      ]: One[Field];
    }
  : never;

/** Every text of every record is named: a forgotten text does not compile. */
type Readings = {
  readonly [Type in JournalRecord["type"]]: {
    readonly [Field in Exclude<FieldsOf<TextFields<Extract<JournalRecord, { readonly type: Type }>>>, "type">]: Reading;
  };
};

type FieldsOf<One> = One extends unknown ? keyof One : never;

const FIELDS: Readings = {
  header: {
    kind: "own",
    execution: "own",
    tenant: "own",
    policies: "own",
    trace: "own",
    language: "own",
    sandbox: "own",
    program: "text",
    source: "text",
    result: "own",
    resultSchema: "json",
    model: "own",
    task: "text",
    programs: "own",
    instructions: "text",
    settings: "json",
    tool: "own",
    caller: "own",
    input: "json",
  },
  claim: { driver: "own", trace: "own" },
  hand: { to: "own" },
  alive: { driver: "own" },
  turn: { event: "frame", commands: "frame" },
  message: { from: "own", message: "json", opaque: "json" },
  rest: { ending: "json" },
  model: { model: "own", instructions: "text" },
  tools: {},
  compact: { history: "json" },
  retry: { call: "own", reason: "text" },
  call: {
    call: "own",
    tool: "text",
    caller: "own",
    decision: "own",
    code: "own",
    policy: "text",
    input: "json",
    inputDigest: "own",
    effect: "own",
  },
  earlier: { tool: "text", key: "own", effect: "own", value: "json", shape: "own", named: "own" },
  decision: { call: "own", by: "text", note: "text", remember: "own", remembered: "own", done: "json" },
  result: { call: "own", value: "json", error: "text" },
  answered: { call: "own", code: "own", shape: "own", display: "json", named: "own" },
  artifact: { name: "text", value: "json", shape: "text", first: "text", call: "own" },
  violation: { detail: "text" },
  restart: { detail: "text" },
  egress: { host: "text", address: "own", outcome: "own", detail: "text" },
  outcome: { outcome: "json", notes: "text" },
};

/** Commands of a turn that are joined, in UTF-16 code units: a program that prints more is stopped. */
const JOINED_LENGTH = 16 * 1024 * 1024;

/**
 * A journal that takes out of records what a runtime's `redact` finds. A changed record says how many characters it lost. A
 * record that a program is run or given from, and from nothing else, is refused in place of that.
 */
export class RedactingJournal implements Journal {
  readonly isDurable: boolean;
  /** Missing if the store tells of no appends. */
  readonly onAppend?: (listener: (appended: Appended) => void) => Disposable;
  readonly #journal: Journal;
  readonly #redactor: Redactor;
  /** Open executions of which a record was changed. */
  readonly #changed = new Set<ExecutionId>();

  constructor(journal: Journal, redactor: Redactor) {
    this.#journal = journal;
    this.#redactor = redactor;
    this.isDurable = journal.isDurable === true;
    if (journal.onAppend) this.onAppend = journal.onAppend.bind(journal);
  }

  get store(): Journal {
    return this.#journal;
  }

  wasRedacted(execution: ExecutionId): boolean {
    return this.#changed.has(execution);
  }

  async create(header: Header, lease?: Lease): Promise<Head> {
    // Without a lease, another driver runs what the journal holds.
    return this.#journal.create((await this.#redacted(header.execution, header, !lease)) as Header, lease);
  }

  async append(
    execution: ExecutionId,
    expected: Head,
    records: readonly JournalRecord[],
    options?: AppendOptions,
  ): Promise<Head> {
    const redacted: JournalRecord[] = [];
    for (const record of records) redacted.push(await this.#redacted(execution, record));
    const head = await this.#journal.append(execution, expected, redacted, options);
    if (records.some(({ type }) => type === "outcome")) this.#changed.delete(execution);
    return head;
  }

  read(execution: ExecutionId, options?: ReadOptions): AsyncIterable<JournalRecord> {
    return this.#journal.read(execution, options);
  }

  find(execution: ExecutionId): Promise<ExecutionSummary> {
    return this.#journal.find(execution);
  }

  list(options?: ListOptions): AsyncIterable<ExecutionSummary> {
    return this.#journal.list(options);
  }

  renew(execution: ExecutionId, lease: Lease): Promise<Head> {
    return this.#journal.renew(execution, lease);
  }

  async #redacted(execution: ExecutionId, record: JournalRecord, isRun = false): Promise<JournalRecord> {
    const changes: Record<string, unknown> = {};
    let taken = 0;
    for (const [name, reading] of Object.entries(FIELDS[record.type])) {
      if (reading === "own") continue;
      const given = (record as unknown as Readonly<Record<string, unknown>>)[name];
      const list = Array.isArray(given) ? (given as readonly string[]) : [given as string | undefined];
      const texts = reading === "frame" && Array.isArray(given) ? await this.#withWholeOutput(given) : list;
      const redacted: unknown[] = [];
      for (const text of texts) {
        const one = typeof text === "string" ? await this.#field(text, reading, record) : { text, taken: 0 };
        taken += one.taken;
        redacted.push(one.text);
      }
      if (given !== undefined) changes[name] = Array.isArray(given) ? redacted : redacted[0];
    }
    if (taken === 0) return record;
    if (isRun || (await this.#isGiven(execution, record, changes)))
      throw new PortcullisError(
        "journal_redacted",
        `Nothing was noted: \`redact\` takes ${taken} characters out of it, and the program would be run or given with what is left. A call still waits: answer it without them, or with an error. A program that is submitted can get such values from a tool.`,
      );
    this.#changed.add(execution);
    const bytes = record.type === "artifact" ? { bytes: Buffer.byteLength(String(changes["value"])) } : {};
    return { ...record, ...changes, ...bytes, redacted: taken } as JournalRecord;
  }

  /** Whether a program would be given what is left of a value from outside. What a model is given is redacted for it too. */
  async #isGiven(execution: ExecutionId, record: JournalRecord, changes: Readonly<Record<string, unknown>>) {
    const isChanged =
      (record.type === "result" && record.value !== changes["value"]) ||
      (record.type === "decision" && record.done !== changes["done"]);
    return isChanged && (await this.#journal.find(execution)).kind !== "conversation";
  }

  /** Commands in which what was printed in pieces stands in one frame: a secret may be cut by the end of a piece. */
  async #withWholeOutput(commands: readonly string[]): Promise<readonly string[]> {
    const whole: { readonly command: string; readonly output: Output | undefined; readonly texts: string[] }[] = [];
    let left = JOINED_LENGTH;
    for (const command of commands) {
      await this.#redactor.pace.rest();
      left -= command.length;
      const output = left < 0 ? undefined : outputOf(command);
      const last = whole.at(-1);
      if (output && output.dropped === 0 && output.stream === last?.output?.stream) last.texts.push(output.text);
      else whole.push({ command, output, texts: output ? [output.text] : [] });
    }
    return whole.map(({ command, output, texts }) =>
      output && texts.length > 1 ? frameText({ ...output.frame, body: JSON.stringify(texts.join("")) }) : command,
    );
  }

  async #field(text: string, reading: Reading, record: JournalRecord) {
    const about = { to: "journal", ...callOf(record) } as const;
    if (reading === "text") return this.#redactor.text(text, about);
    const end = reading === "frame" ? text.indexOf("\n") : -1;
    const first = end === -1 ? text : text.slice(0, end);
    const head =
      reading === "frame" && OWN_HEAD.test(first) ? { text: first, taken: 0 } : await this.#redactor.json(first, about);
    if (end === -1) return head;
    const body = await this.#redactor.json(text.slice(end + 1), about);
    return { text: `${head.text}\n${body.text}`, taken: head.taken + body.taken };
  }
}

/** A frame, or the head of one, in which a program has no words. */
const OWN_HEAD = /^\{"kind":"[a-z_]{1,20}"(?:,"[a-z]{1,20}":(?:\d{1,16}|true|false))*\}$/;

type Output = NonNullable<ReturnType<typeof outputOf>>;

/** What a frame prints; undefined for any other frame. */
function outputOf(command: string) {
  const frame = command.startsWith('{"kind":"output"') ? parseGuestFrame(command) : undefined;
  if (!frame || frame instanceof MalformedFrame || frame.kind !== "output") return undefined;
  const text = parsedJson(frame.body);
  return typeof text === "string" ? { frame, text, stream: frame.stream, dropped: frame.dropped } : undefined;
}

function callOf(record: JournalRecord): { readonly tool?: string; readonly callId?: string } {
  return {
    ...("tool" in record && typeof record.tool === "string" ? { tool: record.tool } : {}),
    ...("call" in record && record.call !== undefined ? { callId: record.call } : {}),
  };
}

/** The journal that holds the records. Runtimes that share a store each have a `redact` of their own. */
export function storeOf(journal: Journal): Journal {
  return journal.store ? storeOf(journal.store) : journal;
}

/** The journal without what redacts its records. */
export function unredacted(journal: Journal): Journal {
  return journal instanceof RedactingJournal ? journal.store : journal;
}

/** Whether records of an execution that goes on differ from what happened, because they were redacted. */
export function wasRedacted(journal: Journal, execution: ExecutionId): boolean {
  return journal instanceof RedactingJournal && journal.wasRedacted(execution);
}
