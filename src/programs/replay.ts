import type { Language } from "../../bridge/frames.ts";
import { PortcullisError } from "../errors.ts";
import type { JournalRecord } from "../journal/record.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { foldExecution } from "./execution-state.ts";
import { GuestLink } from "./guest-link.ts";
import { fieldsOf } from "../options/options.ts";
import { DEFAULT_LIMITS, resolveLimits } from "./limits.ts";
import { type Replayed, replayTurns } from "./replay-turns.ts";

/** Where limits of a journal stand, for an error. */
const LIMITS_OF_HEADER = fieldsOf("header.limits");

/**
 * Runs a journalled execution once more in a fresh guest, with the events that it was given, and says whether it
 * did the same, byte for byte; or that this cannot be said, where the program marked itself. No handler runs: what
 * tools answered is in the journal. `from` is the number of turns to replay first, before the rest is handed over, as
 * if the execution had been taken up there. It may take as long as the program was allowed to run. Rejects with
 * `journal_invalid` or `journal_version` for records that cannot be read, and with the signal's reason.
 */
export async function replay(
  records: readonly JournalRecord[],
  sandbox: Sandbox,
  signal: AbortSignal,
  from = 0,
): Promise<Replayed> {
  // Loaded when it is needed: the parser's library takes as long to load as a program to run.
  const { parseRecords } = await import("../journal/parse-records.ts");
  const [header, ...others] = parseRecords(records);
  if (header.kind === "conversation")
    throw new PortcullisError(
      "option_invalid",
      "replay(records): this is a model's conversation, not a program; its transcript is replayed by replayTranscript.",
    );
  const { unreplayable, settled } = foldExecution([header, ...others]);
  if (unreplayable !== undefined) return { type: "unreplayable", cause: unreplayable };
  const turns = others.filter((record) => record.type === "turn");
  const limits = resolveLimits(DEFAULT_LIMITS, header.limits, LIMITS_OF_HEADER);
  await using link = await GuestLink.open(
    sandbox,
    { language: header.language as Language, limits, tenant: header.tenant },
    signal,
  );
  const onAbort = () => link.guest.kill("the replay was given up");
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
