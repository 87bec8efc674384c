import type { Language } from "../../bridge/frames.ts";
import { Lane, PortcullisError } from "../base/index.ts";
import type { JournalRecord, ProgramHeader } from "../journal/record.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { Clocks } from "./drive/limit-clocks.ts";
import { applySliced, ExecutionState } from "./from-journal/execution-state.ts";
import { openLink } from "./guest/guest-link.ts";
import { type Limits, limitsOf, narrowedLimits } from "./limits.ts";
import { type CountBytes, type Replayed, replayTurns, turnsOf } from "./guest/replay-turns.ts";

/**
 * Runs a journalled execution again in a fresh guest, with the recorded events, and compares its turns byte for byte.
 * No handler runs: the answers of tools are in the journal. Only a part of the records is held in memory at a time. The
 * guest may run for `cpuMs`. `records` are read twice. `count` is called with the bytes that the replay holds. `allowed`
 * narrows the limits that the journal names. Resolves with `unreplayable` if the program used state that a replay cannot reproduce. Rejects with
 * `journal_invalid` or `journal_version` for records that cannot be read, as the source of the records does, and with
 * the signal's reason.
 */
export async function replay(
  records: () => AsyncIterable<JournalRecord> | Iterable<JournalRecord>,
  sandbox: Sandbox,
  signal: AbortSignal,
  count?: CountBytes,
  allowed?: Limits,
): Promise<Replayed> {
  const { state, header } = await foldAll(records());
  const {
    unreplayable,
    end: { settled },
  } = state;
  if (unreplayable !== undefined) return { type: "unreplayable", cause: unreplayable };
  const limits = narrowedLimits(limitsOf(header), allowed);
  await using link = await openLink(
    sandbox,
    { language: header.language as Language, limits, tenant: header.tenant },
    signal,
  );
  const onAbort = () => link.guest.kill("the replay was cancelled");
  const clocks = new Clocks(
    { cpuMs: limits.cpuMs, wallMs: Infinity },
    () => link.guest.kill("the replay took too long"),
    {
      processorMs: () => link.guest.usage().processorMs,
      waitsForApproval: () => false,
      waitsForStore: () => false,
      isListening: () => link.isListening,
    },
  );
  signal.addEventListener("abort", onAbort, { once: true });
  // It may have been aborted while the guest was opened.
  if (signal.aborted) onAbort();
  clocks.begin();
  clocks.replay();
  try {
    const replayed = await replayTurns(link, turnsOf(records()), count);
    signal.throwIfAborted();
    if (replayed.type === "identical" && settled) link.release();
    return replayed;
  } finally {
    clocks.stop();
    signal.removeEventListener("abort", onAbort);
  }
}

async function foldAll(records: AsyncIterable<JournalRecord> | Iterable<JournalRecord>) {
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { recordsParser } = await import("../journal/reading/parse-records.ts");
  const parser = recordsParser();
  const state = new ExecutionState();
  const lane = new Lane("");
  for await (const value of records) {
    const record = parser.next(value);
    await lane.work(applySliced(state, record));
    if (record.type === "header" && record.kind !== "program")
      throw new PortcullisError(
        "option_invalid",
        record.kind === "call"
          ? "replay(records): this is a single call, not a program."
          : "replay(records): this is a model's conversation, not a program.",
      );
  }
  return { state, header: parser.end() as ProgramHeader };
}
