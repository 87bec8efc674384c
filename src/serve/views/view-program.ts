import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { readRecords } from "../../journal/reading/index.ts";
import type { ProgramHeader } from "../../journal/record.ts";
import { reportOf } from "../../executions/output/index.ts";
import {
  endingHead,
  type Past,
  pastFold,
  readEnding,
  recordedExecution,
  standingOf,
  usedBy,
  waitingCalls,
  errorIn,
} from "../../executions/from-journal/index.ts";
import { limitsOf } from "../../executions/limits.ts";
import { unreplayableNote } from "../../executions/drive/ending/index.ts";
import type { Effect } from "../../tools/tool.ts";
import { ToolSet } from "../../tools/tool-set.ts";
import { Lane, pick, readPlainData } from "../../base/index.ts";
import { baseOf, outcomeView, waitingViews } from "./parts/base-view.ts";
import { COUNTED_BYTES, partOf, tokenCount } from "./parts/funnel-view.ts";
import { textAllowance, headOf, type TextBounds } from "./parts/text-allowance.ts";
import { toolPlaces } from "./parts/tool-places.ts";
import type { LimitView, ProgramView, LogView } from "./view.ts";
import { callViews } from "./parts/call-views.ts";
import { eventViews } from "./parts/event-views.ts";

/** The view of one program. Rejects with `journal_invalid`, and as the journal does. */
export async function viewProgram(
  journal: Journal,
  summary: ExecutionSummary,
  header: ProgramHeader,
  bounds: TextBounds,
): Promise<ProgramView> {
  const { language, sandbox, source, corrects } = header;
  const { past, lane, calls, events, logs, tokens, lastAt } = await readProgram(journal, header, bounds);
  const output = await outputText(journal, header, past);
  const base = baseOf(journal, summary, header);
  const waiting = waitingViews([{ calls: waitingCalls(past.state, base.driven), tools: header.tools }]);
  const views = calls.all({ header, driven: base.driven, waiting });
  return {
    ...base,
    kind: "program",
    state: standingOf(past.state, base.driven).state,
    lastAt,
    records: past.state.records,
    outcome: past.outcome && outcomeView(await lane.work(endingHead(past.outcome.outcome))),
    output: output && headOf(output.text, bounds.all),
    waiting,
    calls: views,
    callsLeft: calls.overflow() || undefined,
    limits: limitViews(header, past, lastAt, output),
    funnel: {
      fetched: tokens.of(past.resultBytes + past.streamedBytes),
      seen: tokens.seen(),
      returned: output && partOf(output.text, output.isExact),
    },
    events: events.all(),
    notes: notesOf(past),
    artifacts: past.artifacts.map((one) => pick(one, "name", "bytes", "shape", "call")),
    language,
    sandbox,
    corrects: corrects?.execution,
    source,
    places: toolPlaces(source, new Set(views.map(({ tool }) => tool))),
    logs,
  };
}

/** What its records tell of a program, with the beginnings of its texts. */
async function readProgram(journal: Journal, header: ProgramHeader, bounds: TextBounds) {
  const tokens = tokenCount();
  const events = eventViews();
  const logs: LogView[] = [];
  let lastAt = header.startedAt;
  const fold = pastFold({
    event(event) {
      lastAt = Math.max(lastAt, event.now);
      if (event.kind === "items") tokens.add(event.body ?? "", event.bytes);
      if (event.kind !== "answer") return;
      const { id, ok, body, now } = event;
      if (ok) tokens.add(body, Buffer.byteLength(body));
      const shown = ok ? body : (errorIn(body, "message") ?? body);
      calls.tell(String(id), { ok, body: shown, at: now, code: () => errorIn(body, "code") });
    },
    command(command) {
      if (command.kind === "call") {
        const { id, tool, body: inputText } = command;
        calls.make({ id: String(id), tool, caller: "programmatic", inputText, at: 0 });
      } else if (command.kind === "output") {
        const read = readPlainData(command.body);
        const text = read.ok && typeof read.value === "string" ? read.value : "";
        logs.push({ stream: command.stream, text, dropped: command.dropped || undefined });
      }
    },
  });
  const calls = callViews(textAllowance(bounds), fold.calls);
  const records = readRecords(journal, header.execution, { tenant: header.tenant, itemBytes: COUNTED_BYTES });
  const { lane } = records;
  for await (const record of records) {
    await lane.work(fold.take(record));
    if ("at" in record) lastAt = Math.max(lastAt, record.at);
    calls.note(record);
    events.note(record);
  }
  return { past: await lane.work(fold.past()), lane, calls, events, logs, tokens, lastAt };
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

function limitViews(
  header: ProgramHeader,
  past: Past,
  lastAt: number,
  output: OutputText | undefined,
): readonly LimitView[] {
  const { cpuMs, wallMs, peakMemoryBytes } = {
    ...(Object.keys(past.state.used.noted).length > 0 && usedBy(past.state)),
    ...past.outcome?.usage,
  };
  const returned = past.state.end.settled?.body;
  const limits = limitsOf(header);
  const used = {
    cpuMs,
    wallMs: wallMs ?? (past.outcome ? undefined : lastAt - header.startedAt),
    memoryBytes: peakMemoryBytes,
    calls: past.calls,
    totalBytes: past.inputBytes + past.resultBytes,
    outputBytes: output && returned !== undefined ? Buffer.byteLength(returned) : undefined,
    printedBytes: Math.min(past.logs.bytes, limits.printedBytes),
  };
  return Object.entries(used).map(([name, value]) => ({
    name,
    used: value,
    allowed: limits[name as keyof typeof used],
  }));
}
