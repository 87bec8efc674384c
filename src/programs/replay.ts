import type { Language, UnreplayableCause } from "../../bridge/frames.ts";
import { parseGuestFrame } from "../../bridge/parse-guest-frame.ts";
import { PortcullisError } from "../errors.ts";
import type { Header, JournalRecord, Turn } from "../journal/record.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { GuestLink } from "./guest-link.ts";
import { DEFAULT_LIMITS, resolveLimits } from "./limits.ts";
import { type Replayed, replayTurns } from "./replay-turns.ts";

/**
 * Runs a journalled execution once more in a fresh guest, with the events that it was given, and says whether it
 * did the same, byte for byte; or that this cannot be said, where the program marked itself. No handler runs: what
 * tools answered is in the journal. `from` is the number of turns to replay first, before the rest is handed over, as
 * if the execution had been taken up there. It may take as long as the program was allowed to run. Rejects with an
 * `option_invalid` for records that are none, and with the signal's reason.
 */
export async function replay(
  records: readonly JournalRecord[],
  sandbox: Sandbox,
  signal: AbortSignal,
  from = 0,
): Promise<Replayed> {
  const header = Array.isArray(records) ? records.find(isHeader) : undefined;
  if (!header && Array.isArray(records) && records.some((record: JournalRecord) => record?.type === "conversation"))
    throw invalid("this is a model's conversation, not a program; its transcript is replayed by replayTranscript");
  if (!header) throw invalid("expected the records of one execution, its header first");
  const turns = records.filter((record): record is Turn => record?.type === "turn");
  if (!turns.every(isTurn)) throw invalid("a turn lacks its event or its commands");
  if (records.some((record) => record?.type === "egress")) return { type: "unreplayable", cause: "network" };
  const cause = turns.flatMap(({ commands }) => commands.map(causeIn)).find((one) => one !== undefined);
  if (cause !== undefined) return { type: "unreplayable", cause };
  const limits = resolveLimits(DEFAULT_LIMITS, header.limits, "replay(records): header.limits");
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
    if (replayed.type === "identical" && turns.at(-1)?.commands.at(-1)?.startsWith('{"kind":"settled"')) link.release();
    return replayed;
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener("abort", onAbort);
  }
}

function isHeader(record: JournalRecord): record is Header {
  return record?.type === "header" && typeof record.tenant === "string";
}

/** Records may come from a file that anybody has written. */
function isTurn({ event, commands }: Turn): boolean {
  return (
    typeof event === "string" && Array.isArray(commands) && commands.every((command) => typeof command === "string")
  );
}

function invalid(why: string): PortcullisError {
  return new PortcullisError("option_invalid", `replay(records): ${why}.`);
}

/** What a program said it used that would not be the same, where this command says so. */
function causeIn(command: string): UnreplayableCause | undefined {
  const frame = command.startsWith('{"kind":"unreplayable"') ? parseGuestFrame(command) : undefined;
  return frame && "cause" in frame ? frame.cause : undefined;
}
