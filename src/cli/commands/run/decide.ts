import { optionError } from "../../../base/index.ts";
import { decideFor as noteDecision } from "../../../runtime/executions/index.ts";
import type { Decision } from "../../../executions/decide.ts";
import type { CommandOptions, DECIDE } from "../../command-options.ts";
import { findExecution, readResumedHeader, existingJournal, type OpenJournal } from "../../input/open-journal.ts";
import { viewExecution } from "../../../serve/views/view-execution.ts";
import { waitingLines } from "../../terminal/executions/execution-text.ts";
import { resumeCommand, sameAs } from "../../terminal/executions/waiting-hints.ts";
import { printJson, writeStderr } from "../../terminal/standard-streams.ts";
import { queueSchema } from "../../../fleet/queue/queue-schema.ts";
import { thrownText } from "../../../executions/output/index.ts";
import type { Journal } from "../../../journal/journal.ts";

/** `portcullis decide`: notes a decision about a call that waits. It runs nothing; `resume` does, or a worker of the fleet. */
export async function runDecide(named: string, call: string, options: CommandOptions<typeof DECIDE>): Promise<void> {
  const { allow = false, deny, done, hold, by, note, remember, grant, tenant = "default" } = options;
  const answers = [allow, deny, done !== undefined].filter(Boolean).length;
  if (answers !== 1) throw optionError("decide", "exactly one of --allow, --deny and --done", answers);
  const decision: Decision = {
    ...(done === undefined ? { allow } : { done: { value: done } }),
    hold,
    by,
    note,
    remember: remember ? "execution" : undefined,
    grant: grant as Decision["grant"],
  };
  await using journal = existingJournal(options.journal);
  const execution = await findExecution(journal, named, tenant);
  await using waking = await wakingJournal(journal);
  await noteDecision({ journal: waking.journal, tenant }, execution, { decisions: { [call]: decision } });
  const header = await readResumedHeader(journal, execution);
  const whole = header?.execution ?? execution;
  if (options.json) return printJson({ execution, call, resume: whole });
  const same = sameAs(header, options.journal);
  const view = await viewExecution(journal, whole);
  const lines = waitingLines(view, same);
  const still = lines.length === 0 ? "" : `It still waits:\n${lines.join("\n")}\n`;
  const takeUp =
    "Resume it, unless a server of this journal does, with what it began with (--tools, --mcp or --openapi)";
  const next = waking.isFleets
    ? `A worker of the fleet continues ${whole}.`
    : view.driven
      ? "Its driver continues it."
      : `${takeUp}: ${resumeCommand(whole, same)}`;
  writeStderr(`Noted. ${still}${next}\n`);
}

/** A journal by which what is noted wakes the workers of the fleet, if there is one. */
interface WakingJournal extends AsyncDisposable {
  readonly journal: Journal;
  /** Whether there are workers to be woken. */
  readonly isFleets: boolean;
}

/** Tables of the queue of a fleet: a journal that no fleet has used has none, and gets none here. */
const HAS_QUEUE = "SELECT to_regclass($1) IS NOT NULL AS has_queue";

/** What is noted counts without a wake too, and workers find it later: a queue that cannot be opened hinders no decision. */
async function wakingJournal(store: OpenJournal): Promise<WakingJournal> {
  const alone = { journal: store, isFleets: false, [Symbol.asyncDispose]: async () => {} };
  if (!("query" in store)) return alone;
  const { rows } = await store.query(HAS_QUEUE, [`${queueSchema(store.schema)}.job`]);
  if (rows[0]?.["has_queue"] !== true) return alone;
  const { createFleet } = await import("../../../fleet/index.ts");
  const fleet = createFleet({ journal: store, onError: tell });
  try {
    await fleet.open();
  } catch (error) {
    tell(error);
    await fleet[Symbol.asyncDispose]();
    return alone;
  }
  return { journal: fleet.journal, isFleets: true, [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose]() };
}

function tell(error: unknown): void {
  writeStderr(`No worker of the fleet was woken; one continues it at its next check: ${thrownText(error)}\n`);
}
