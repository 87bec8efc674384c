import type { ExecutionSummary, Journal } from "../journal/journal.ts";
import type { ProgramHeader } from "../journal/record.ts";

import { inSlices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { limitsOf } from "../programs/limits.ts";
import { type Past, readPast } from "../programs/past-execution.ts";
import { openCalls, waitingOf } from "../programs/waiting.ts";
import { baseOf } from "./base-view.ts";
import { partOf } from "./funnel-view.ts";
import { outcomeView } from "./outcome-view.ts";
import { type OutputText, outputText } from "./output-text.ts";
import { ProgramReader } from "./program-reader.ts";
import { headOf, TextRoom, type TextBounds } from "./text-room.ts";
import { toolPlaces } from "./tool-places.ts";
import type { LimitView, ProgramView } from "./view.ts";
import { WaitingViews } from "./waiting-views.ts";

/** The view of one program. Rejects with `journal_invalid`, and as the journal does. */
export async function viewProgram(
  journal: Journal,
  summary: ExecutionSummary,
  header: ProgramHeader,
  bounds: TextBounds,
): Promise<ProgramView> {
  const reader = new ProgramReader(new TextRoom(bounds));
  const past = await readPast(reader.reading(inSlices(journal.read(header.execution), new Lane(header.tenant))));
  const output = await outputText(journal, header, past);
  const waiting = new WaitingViews();
  if (!past.outcome) waiting.take(header, openCalls(past.state));
  const { language, sandbox, source } = header;
  const calls = reader.calls.all;
  const artifacts = past.artifacts.map(({ name, bytes, shape, call }) => ({ name, bytes, shape, call }));
  return {
    ...baseOf(journal, summary, header),
    kind: "program",
    state: past.outcome ? "ended" : waitingOf(past.state) ? "waiting" : "running",
    lastAt: reader.lastAt,
    records: past.state.records,
    ...(past.outcome && { outcome: outcomeView(past.outcome.outcome) }),
    ...(output && { output: headOf(output.text, bounds.all) }),
    waiting: waiting.all,
    calls,
    ...(reader.calls.left === 0 ? {} : { callsLeft: reader.calls.left }),
    limits: limitViews(header, past, reader, output),
    funnel: {
      fetched: reader.tokens.of(past.resultBytes),
      seen: reader.tokens.seen,
      ...(output && { returned: partOf(output.text, output.isExact) }),
    },
    events: reader.events.all,
    notes: [...(past.outcome?.notes ?? []), ...(past.state.settled?.notes ?? [])],
    artifacts,
    language,
    sandbox,
    source,
    places: toolPlaces(source, new Set(calls.map(({ tool }) => tool))),
    turns: reader.turns,
    ...(reader.turnsLeft === 0 ? {} : { turnsLeft: reader.turnsLeft }),
    logs: reader.logs,
  };
}

function limitViews(
  header: ProgramHeader,
  past: Past,
  { largest, lastAt }: ProgramReader,
  output: OutputText | undefined,
): readonly LimitView[] {
  const { runningMs, wallMs, peakMemoryBytes } = past.outcome?.usage ?? {};
  const returned = past.state.settled?.body;
  const used: Readonly<Record<string, number | undefined>> = {
    runningMs,
    wallMs: wallMs ?? (past.outcome ? undefined : lastAt - header.startedAt),
    memoryBytes: peakMemoryBytes,
    calls: past.calls,
    inputBytes: largest.inputBytes,
    resultBytes: largest.resultBytes,
    totalBytes: past.inputBytes + past.resultBytes,
    outputBytes: output && returned !== undefined ? Buffer.byteLength(returned) : undefined,
    logBytes: past.logs.bytes,
  };
  const limits = limitsOf(header);
  return Object.entries(used).map(([name, value]) => ({
    name,
    ...(value === undefined ? {} : { used: value }),
    // What is printed is kept from the start, and as much again from the end.
    allowed: (limits[name as keyof typeof limits] ?? 0) * (name === "logBytes" ? 2 : 1),
  }));
}
