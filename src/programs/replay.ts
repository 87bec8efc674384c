import type { Language } from "../../bridge/frames.ts";
import { PortcullisError } from "../errors.ts";
import type { Header, JournalRecord, Turn } from "../journal/record.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { GuestLink } from "./guest-link.ts";
import type { Limits } from "./limits.ts";
import { type Replayed, replayTurns } from "./replay-turns.ts";

/**
 * Runs a journalled execution once more in a fresh guest, with the events that it was given, and says whether it
 * did the same, byte for byte. No handler runs: what tools answered is in the journal. `from` is the number of
 * turns to replay first, before the rest is handed over, as if the execution had been taken up there.
 */
export async function replay(
  records: readonly JournalRecord[],
  sandbox: Sandbox,
  signal: AbortSignal,
  from = 0,
): Promise<Replayed> {
  const header = records.find((record): record is Header => record.type === "header");
  if (!header)
    throw new PortcullisError(
      "option_invalid",
      "replay(records): expected the records of one execution, its header first.",
    );
  const turns = records.filter((record): record is Turn => record.type === "turn");
  await using link = await GuestLink.open(
    sandbox,
    { language: header.language as Language, limits: header.limits as unknown as Limits, tenant: header.tenant },
    signal,
  );
  const first = await replayTurns(link, turns.slice(0, from));
  const replayed = first.type === "identical" ? await replayTurns(link, turns.slice(from)) : first;
  if (replayed.type === "identical" && turns.at(-1)?.commands.at(-1)?.startsWith('{"kind":"settled"'))
    link.guest.release();
  return replayed;
}
