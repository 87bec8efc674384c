import type { Language } from "../../bridge/frames.ts";
import { PortcullisError } from "../errors.ts";
import type { JournalRecord, ProgramHeader, TurnRecord } from "../journal/record.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { Clocks } from "./clocks.ts";
import { applyRecord, type ExecutionState, initialState } from "./execution-state.ts";
import { GuestLink } from "./guest-link.ts";
import { limitsOf } from "./limits.ts";
import { type Replayed, replayTurns } from "./replay-turns.ts";

/** The records of an execution, which are read twice. */
export type ReplayedRecords = readonly JournalRecord[] | (() => AsyncIterable<JournalRecord>);

/**
 * Runs a journalled execution again in a fresh guest, with the recorded events, and compares its turns byte for byte.
 * Resolves with `unreplayable` if the program used state that a replay cannot reproduce. No handler runs: the answers of
 * tools are in the journal. Only a part of the records is held in memory at a time. `from` splits the replay in two: its
 * first `from` turns are replayed before the others are sent, as if a driver had taken the execution over there. The guest
 * may run for `runningMs`. Rejects with `journal_invalid` or `journal_version` for records that cannot be read, as their
 * source does, and with the signal's reason.
 */
export async function replay(
  records: ReplayedRecords,
  sandbox: Sandbox,
  signal: AbortSignal,
  from = 0,
): Promise<Replayed> {
  const { header, unreplayable, settled } = await foldAll(records);
  if (unreplayable !== undefined) return { type: "unreplayable", cause: unreplayable };
  const limits = limitsOf(header);
  await using link = await GuestLink.open(
    sandbox,
    { language: header.language as Language, limits, tenant: header.tenant },
    signal,
  );
  const onAbort = () => link.guest.kill("the replay was cancelled");
  const clocks = new Clocks(
    { runningMs: limits.runningMs, wallMs: Number.POSITIVE_INFINITY },
    () => link.guest.kill("the replay took too long"),
    { processorMs: () => link.guest.usage().processorMs, waitsForApproval: () => false, waitsForStore: () => false },
  );
  signal.addEventListener("abort", onAbort, { once: true });
  clocks.begin();
  clocks.replay();
  try {
    const turns = turnsOf(records);
    const first = await replayTurns(link, taken(turns, from));
    const replayed = first.type === "identical" ? await replayTurns(link, turns, from) : first;
    signal.throwIfAborted();
    if (replayed.type === "identical" && settled) link.release();
    return replayed;
  } finally {
    clocks.stop();
    signal.removeEventListener("abort", onAbort);
  }
}

/** Reads the records once, and checks each of them. */
async function foldAll(records: ReplayedRecords): Promise<ExecutionState & { readonly header: ProgramHeader }> {
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { RecordsParser } = await import("../journal/parse-records.ts");
  const parser = new RecordsParser();
  const state = initialState();
  for await (const value of allOf(records)) {
    const record = parser.next(value);
    applyRecord(state, record);
    if (record.type === "header" && record.kind !== "program")
      throw new PortcullisError(
        "option_invalid",
        record.kind === "call"
          ? "replay(records): this is a single call, not a program."
          : "replay(records): this is a model's conversation, not a program. Use replayTranscript to replay its transcript.",
      );
  }
  return { ...state, header: parser.end() as ProgramHeader };
}

async function* turnsOf(records: ReplayedRecords): AsyncGenerator<TurnRecord, void, undefined> {
  for await (const record of allOf(records)) if (record.type === "turn") yield record;
}

function allOf(records: ReplayedRecords): AsyncIterable<JournalRecord> | Iterable<JournalRecord> {
  return typeof records === "function" ? records() : records;
}

/** The next items, as many as `count`, without ending their source. */
async function* taken<Item>(items: AsyncGenerator<Item, void, undefined>, count: number): AsyncGenerator<Item> {
  for (let index = 0; index < count; index += 1) {
    const { done, value } = await items.next();
    if (done) return;
    yield value;
  }
}
