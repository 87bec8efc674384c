import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { readRecords } from "../../journal/reading/index.ts";
import type { ProgramHeader, JournalRecord, TurnRecord } from "../../journal/record.ts";
import { reportOf } from "../../executions/output/index.ts";
import {
  endingHead,
  type Past,
  pastFold,
  readEnding,
  recordedExecution,
  standingOf,
  usageOf,
  waitingCalls,
  eachSliced,
  errorIn,
  type PastTurn,
  readTurnSliced,
} from "../../executions/from-journal/index.ts";
import { limitsOf } from "../../executions/limits.ts";
import { unreplayableNote } from "../../executions/drive/ending/index.ts";
import type { Effect } from "../../tools/tool.ts";
import { ToolSet } from "../../tools/tool-set.ts";
import { Lane, readPlainData, type SlicedWork } from "../../base/index.ts";
import { baseOf, outcomeView, waitingViews } from "./parts/base-view.ts";
import { COUNTED_BYTES, partOf, TokenCount } from "./parts/funnel-view.ts";
import { TextAllowance, headOf, type TextBounds } from "./parts/text-allowance.ts";
import { toolPlaces } from "./parts/tool-places.ts";
import type { LimitView, ProgramView, LogView } from "./view.ts";
import type { HostFrame } from "../../../bridge/frames.ts";
import { CallViews } from "./parts/call-views.ts";
import { EventViews } from "./parts/event-views.ts";

/** The view of one program. Rejects with `journal_invalid`, and as the journal does. */
export async function viewProgram(
  journal: Journal,
  summary: ExecutionSummary,
  header: ProgramHeader,
  bounds: TextBounds,
): Promise<ProgramView> {
  const { execution, tenant, language, sandbox, source, corrects } = header;
  const fold = pastFold();
  const reader = new ProgramReader(new TextAllowance(bounds));
  const records = readRecords(journal, execution, { tenant, itemBytes: COUNTED_BYTES });
  const { lane } = records;
  for await (const record of records) {
    await lane.work(fold.take(record));
    await lane.work(reader.take(record));
  }
  const past = await lane.work(fold.past());
  const output = await outputText(journal, header, past);
  const base = baseOf(journal, summary, header);
  const waiting = waitingViews([{ calls: waitingCalls(past.state, base.driven), tools: header.tools }]);
  const calls = reader.calls.all({ header, driven: base.driven, waiting });
  return {
    ...base,
    kind: "program",
    state: standingOf(past.state, base.driven).state,
    lastAt: reader.lastAt,
    records: past.state.records,
    outcome: past.outcome && outcomeView(await lane.work(endingHead(past.outcome.outcome))),
    output: output && headOf(output.text, bounds.all),
    waiting,
    calls,
    callsLeft: reader.calls.left || undefined,
    limits: limitViews(header, past, reader, output),
    funnel: {
      fetched: reader.tokens.of(past.resultBytes + past.streamedBytes),
      seen: reader.tokens.seen,
      returned: output && partOf(output.text, output.isExact),
    },
    events: reader.events.all,
    notes: notesOf(past),
    artifacts: past.artifacts.map(({ name, bytes, shape, call }) => ({ name, bytes, shape, call })),
    language,
    sandbox,
    corrects: corrects?.execution,
    source,
    places: toolPlaces(source, new Set(calls.map(({ tool }) => tool))),
    logs: reader.logs,
  };
}

/** Notes that the model got, and what an operator has to know beside them. */
function notesOf({ outcome, state: { end, unreplayable } }: Past): readonly string[] {
  const notes = [...(outcome?.notes ?? []), ...(end.settled?.notes ?? [])];
  return unreplayable === undefined ? notes : [...notes, unreplayableNote(unreplayable)];
}

type OutputText = NonNullable<Awaited<ReturnType<typeof outputText>>>;

/** The text that the model got of a program. Undefined if the program has not ended, or its outcome cannot be read. */
async function outputText(journal: Journal, header: ProgramHeader, past: Past) {
  const ending = await readEnding(past, limitsOf(header).outputBytes, new Lane(header.tenant));
  if (!ending) return undefined;
  const execution = recordedExecution({ journal }, past, ending);
  const effects = new Map<string, Effect | undefined>(header.tools.map(({ name, effect }) => [name, effect]));
  const calls = execution.calls.map((line) => ({ ...line, effect: line.effect ?? effects.get(line.tool) ?? "read" }));
  const { output } = reportOf({ ...execution, calls }, new ToolSet([]));
  return {
    text: output.text,
    /**
     * Whether the text is exact. The text lacks the hint of a fault, which needs the tools: the journal does not hold
     * them. It also lacks values that a program of a conversation has kept, which the conversation's journal has.
     */
    isExact: ending.type !== "failed" && header.parent === undefined,
  };
}

/** UTF-8 bytes of the items of the stream that has most; undefined if no stream was read. */
function largestStream({ lines, state }: Past): number | undefined {
  let largest: number | undefined;
  for (const { items, bytes } of lines) if (items !== undefined) largest = Math.max(largest ?? 0, bytes);
  for (const { streamed } of state.calls.values()) if (streamed) largest = Math.max(largest ?? 0, streamed.bytes);
  return largest;
}

function limitViews(
  header: ProgramHeader,
  past: Past,
  { largest, lastAt }: ProgramReader,
  output: OutputText | undefined,
): readonly LimitView[] {
  const { cpuMs, wallMs, peakMemoryBytes } = {
    ...(Object.keys(past.state.used.noted).length > 0 && usageOf(past.state)),
    ...past.outcome?.usage,
  };
  const returned = past.state.end.settled?.body;
  const streamBytes = largestStream(past);
  const limits = limitsOf(header);
  const { printedBytes } = limits;
  const used: Readonly<Record<string, number | undefined>> = {
    cpuMs,
    wallMs: wallMs ?? (past.outcome ? undefined : lastAt - header.startedAt),
    memoryBytes: peakMemoryBytes,
    calls: past.calls,
    inputBytes: largest.inputBytes,
    resultBytes: largest.resultBytes,
    totalBytes: past.inputBytes + past.resultBytes,
    ...(streamBytes === undefined ? {} : { streamBytes }),
    outputBytes: output && returned !== undefined ? Buffer.byteLength(returned) : undefined,
    printedBytes: Math.min(past.logs.bytes, printedBytes),
  };
  return Object.entries(used).map(([name, value]) => ({
    name,
    used: value,
    allowed: limits[name as keyof typeof limits] ?? 0,
  }));
}

/** Reads the facts of a program that `PastFold` does not give: its calls and printed texts, one by one. */
class ProgramReader {
  readonly calls: CallViews;
  readonly events = new EventViews();
  readonly logs: LogView[] = [];
  readonly tokens = new TokenCount();
  readonly largest = { inputBytes: 0, resultBytes: 0 };
  lastAt = 0;
  #now = 0;

  constructor(room: TextAllowance) {
    this.calls = new CallViews(room);
  }

  *take(record: JournalRecord): SlicedWork<void> {
    if (record.type === "turn") return yield* this.#takeTurn(record);
    this.calls.note(record);
    this.events.note(record);
    if (record.type === "header") this.lastAt = record.startedAt;
    else if ("at" in record) this.lastAt = Math.max(this.lastAt, record.at);
    if (record.type === "answered" && record.items === undefined)
      this.largest.resultBytes = Math.max(this.largest.resultBytes, record.bytes);
  }

  *#takeTurn(record: TurnRecord): SlicedWork<void> {
    const { event, commands } = yield* readTurnSliced(record);
    this.#now = Math.max(this.#now, event.now);
    this.lastAt = Math.max(this.lastAt, event.now);
    if (event.kind === "answer") this.#takeAnswer(event);
    if (event.kind === "items") {
      const { id, count, bytes, body = "" } = event;
      this.tokens.add(body, bytes);
      this.calls.history.stream(String(id), count, bytes);
    }
    yield* eachSliced(commands, (command) => this.#takeCommand(command));
  }

  #takeAnswer({ id, ok, body, now }: HostFrame & { readonly kind: "answer" }): void {
    if (ok) this.tokens.add(body, Buffer.byteLength(body));
    const shown = ok ? body : (errorIn(body, "message") ?? body);
    this.calls.tell(String(id), { ok, body: shown, at: now, code: () => errorIn(body, "code") });
  }

  #takeCommand(command: PastTurn["commands"][number]): void {
    if (command.kind === "call") {
      const { id, tool, body: inputText } = command;
      this.calls.make({ id: String(id), tool, caller: "programmatic", inputText, at: this.#now });
      this.largest.inputBytes = Math.max(this.largest.inputBytes, Buffer.byteLength(inputText));
    } else if (command.kind === "cancel") this.calls.history.leave(String(command.id), this.#now);
    else if (command.kind === "output") {
      const read = readPlainData(command.body);
      const text = read.ok && typeof read.value === "string" ? read.value : "";
      this.logs.push({ stream: command.stream, text, dropped: command.dropped || undefined });
    }
  }
}
