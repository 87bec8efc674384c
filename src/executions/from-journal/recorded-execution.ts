import { type ExecutionId, jsonOrText, type Lane, PortcullisError, readUpTo } from "../../base/index.ts";
import { ArtifactSpace } from "../../journal/artifact-space.ts";
import { keptBefore } from "../drive/ending/keep-value.ts";
import { shownExecution } from "../redact-execution.ts";
import { checkResult, type ResultSchema } from "../drive/ending/result-schema.ts";
import { type Execution, NOT_DRIVEN } from "../execution.ts";
import { limitsOf } from "../limits.ts";
import type { Ending } from "../outcome.ts";
import type { Scope } from "../scope.ts";
import { approverOfProgram, usedBy } from "./execution-state.ts";
import { invalidAt } from "./read-turns.ts";
import type { Past } from "./past-execution.ts";
import { type Standing, waitingIn } from "./standing.ts";
import type { ToolDigest } from "../../journal/record.ts";
import type { GuestFrame } from "../../../bridge/frames.ts";
import { MalformedFrame, parseGuestFrame } from "../../../bridge/parse-frame.ts";
import type { Journal } from "../../journal/journal.ts";
import { readRecords, type Records } from "../../journal/reading/read-records.ts";

export function recordedExecution(
  { journal, artifacts }: Pick<Scope, "journal" | "artifacts">,
  past: Past,
  ending: Ending,
): Execution {
  const { state, logs, lines, resultBytes, streamedBytes, outcome } = past;
  const { turns, restarts, unreplayable, used, end } = state;
  const header = state.header ?? { execution: "", limits: {} };
  const { execution } = header;
  const place = artifacts ?? { space: new ArtifactSpace(journal, execution, past.artifacts), prefix: "" };
  return {
    ...NOT_DRIVEN,
    ...usedBy(state),
    // A journal may come from elsewhere, and its usage may have any names.
    ...outcome?.usage,
    execution,
    limits: limitsOf(header),
    ending,
    ...logs.shown,
    notes: outcome?.notes ?? [],
    remarks: end.settled?.notes ?? [],
    turns,
    restarts,
    unreplayable,
    connections: used.connections,
    seenBytes: used.seenBytes,
    calls: lines,
    resultBytes: resultBytes + streamedBytes,
    approvedBy: approverOfProgram(state),
    kept: { place, ...keptBefore(place) },
  };
}

/** An execution that only waits, as it may be shown; undefined if it does more than wait. */
export async function waitingExecution(scope: Scope, past: Past, standing: Standing): Promise<Execution | undefined> {
  const waiting = waitingIn(standing, past.state);
  return waiting && shownExecution(recordedExecution(scope, past, waiting), scope);
}

/**
 * An execution that has ended, with its value, as it may be shown. Rejects with `journal_invalid` for an ending that
 * cannot be read, and with `option_invalid` for a value that no longer fits the schema of the result.
 */
export async function endedExecution(scope: Scope, past: Past, result?: ResultSchema): Promise<Execution> {
  const { gate, limits, tenant } = scope;
  const { header, records } = past.state;
  const share = gate.held.share(tenant, limits.totalBytes);
  try {
    const ending = await readEnding(past, limits.outputBytes, share.lane);
    if (!ending) throw invalidAt(header?.execution, records - 1, "its outcome is not that of a program");
    const checked =
      result && ending.type === "completed"
        ? await checkResult(ending.text, result, limits.inputBytes, share.lane)
        : undefined;
    if (checked?.ok === false)
      throw new PortcullisError(
        "option_invalid",
        `The value of execution ${JSON.stringify(header?.execution)} fitted its \`result\` when it ended, and does not now. ${checked.fault.message}`,
      );
    const fullEnding = ending.type === "completed" ? { ...ending, checked } : ending;
    return await shownExecution(recordedExecution(scope, past, fullEnding), scope);
  } finally {
    share.end();
  }
}

/** The ending in a journal, with the program's value; undefined if there is no ending or it cannot be read. */
export async function readEnding(
  { outcome, state: { end } }: Past,
  outputBytes: number,
  lane: Lane,
): Promise<Ending | undefined> {
  const { settled } = end;
  // Loaded on demand: loading the schema library takes as long as running a program.
  const { JOURNAL_ENDING } = await import("../outcome.ts");
  const { data: ending } = JOURNAL_ENDING.safeParse(jsonOrText(outcome?.outcome ?? ""));
  if (ending?.type !== "completed") return ending;
  if (settled?.ok === false) return undefined;
  const text = settled?.body;
  if (text === undefined) return { type: "completed", value: undefined, text };
  const returned = await readUpTo(text, outputBytes, lane);
  return returned && { type: "completed", ...returned, text };
}

/** Where the calls of tools run, by the tools' names: of those that do not run in a handler of the host. */
export function placesByTool(tools: readonly ToolDigest[]): ReadonlyMap<string, string> {
  return new Map(tools.flatMap(({ name, place }) => (place === undefined ? [] : [[name, place] as const])));
}

/**
 * Number of records at the journal's end that are searched for the last turn; the second if the first is too small. The
 * outcome follows that turn, and late decisions may. An earlier record may be as large as the program's calls.
 */
const LAST_RECORDS = [2, 64];

/** JSON text of the whole value that a program has returned; undefined without one. Rejects as the journal does. */
export async function returnedText(journal: Journal, execution: ExecutionId): Promise<string | undefined> {
  const { records, tenant } = await journal.find(execution);
  for (const last of LAST_RECORDS) {
    const settled = await lastSettled(readRecords(journal, execution, { tenant, from: Math.max(0, records - last) }));
    if (settled) return settled.ok ? settled.body : undefined;
  }
  return undefined;
}

async function lastSettled(records: Records): Promise<Settled | undefined> {
  let settled: Settled | undefined;
  for await (const record of records) {
    // `settled` is the last command of its turn.
    const last = record.type === "turn" ? record.commands.at(-1) : undefined;
    const frame = last === undefined ? undefined : parseGuestFrame(last);
    if (frame && !(frame instanceof MalformedFrame) && frame.kind === "settled") settled = frame;
  }
  return settled;
}

type Settled = GuestFrame & { readonly kind: "settled" };
