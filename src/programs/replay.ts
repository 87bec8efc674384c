import type { Language } from "../../bridge/frames.ts";
import { PortcullisError } from "../errors.ts";
import type { JournalRecord } from "../journal/record.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { foldExecution } from "./execution-state.ts";
import { GuestLink } from "./guest-link.ts";
import { limitsOf } from "./limits.ts";
import { type Replayed, replayTurns } from "./replay-turns.ts";

/**
 * Runs a journalled execution again in a fresh guest, with the recorded events, and compares its turns byte for byte.
 * Resolves with `unreplayable` if the program used state that a replay cannot reproduce. No handler runs: the answers of
 * tools are in the journal. `from` splits the replay in two: its first `from` turns are replayed before the others are
 * sent, as if a driver had taken the execution over there. The replay may take `runningMs`. Rejects with
 * `journal_invalid` or `journal_version` for records that cannot be read, and with the signal's reason.
 */
export async function replay(
  records: readonly JournalRecord[],
  sandbox: Sandbox,
  signal: AbortSignal,
  from = 0,
): Promise<Replayed> {
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { parseRecords } = await import("../journal/parse-records.ts");
  const [header, ...others] = parseRecords(records);
  if (header.kind !== "program")
    throw new PortcullisError(
      "option_invalid",
      header.kind === "call"
        ? "replay(records): this is a single call, not a program."
        : "replay(records): this is a model's conversation, not a program. Use replayTranscript to replay its transcript.",
    );
  const { unreplayable, settled } = foldExecution([header, ...others]);
  if (unreplayable !== undefined) return { type: "unreplayable", cause: unreplayable };
  const turns = others.filter((record) => record.type === "turn");
  const limits = limitsOf(header);
  await using link = await GuestLink.open(
    sandbox,
    { language: header.language as Language, limits, tenant: header.tenant },
    signal,
  );
  const onAbort = () => link.guest.kill("the replay was cancelled");
  const deadline = setTimeout(() => link.guest.kill("the replay took too long"), limits.runningMs);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const first = await replayTurns(link, turns.slice(0, from));
    const replayed = first.type === "identical" ? await replayTurns(link, turns.slice(from), from) : first;
    signal.throwIfAborted();
    if (replayed.type === "identical" && settled) link.release();
    return replayed;
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener("abort", onAbort);
  }
}
