import { randomUUID } from "node:crypto";
import type { Language } from "../../bridge/frames.ts";
import { optionError, PortcullisError } from "../errors.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { ForeignRecord } from "../journal/execution-log.ts";
import type { Journal } from "../journal/journal.ts";
import type { DecisionRecord, Header, ProgramHeader, ResultRecord } from "../journal/record.ts";
import { toolDigest } from "../tools/tool-digest.ts";
import { detailsOf } from "../gate/approval.ts";
import type { RememberedDecision } from "../gate/remembered.ts";
import { jsonTextOf } from "../values/json-text.ts";
import { drivenHere } from "./driven-here.ts";
import { driveExecution, execute, type Execution, startFrame } from "./execute.ts";
import type { ExecutionState, OpenCall } from "./execution-state.ts";
import { limitsOf } from "./limits.ts";
import type { Ending } from "./outcome.ts";
import { type Past, readPast, rememberedDecision } from "./past-execution.ts";
import { prepare } from "./prepare/prepare.ts";
import type { Scope } from "./scope.ts";
import { readReturned } from "./settlement.ts";
import { TrackedLog } from "./tracked-log.ts";
import { isExpired, waitingOf } from "./waiting.ts";

/** A decision about a call that waits. */
export interface Decision {
  /** Whether the call may run, or run again. */
  readonly allow?: boolean;
  /** The call was done elsewhere, with this result. Only for a call whose outcome is unknown. */
  readonly done?: { readonly value: unknown };
  /** Who decided; for the journal. */
  readonly by?: string;
  /** For the journal; the program reads the note of a denial. */
  readonly note?: string;
  /** Decides later calls of the execution with the same tool and the same input alike. Not for a call whose outcome is unknown. */
  readonly remember?: "execution";
}

/** The result of a call that a client answers. */
export type ClientResult = { readonly value: unknown } | { readonly error: string };

export interface ResumeWork {
  readonly decisions?: Readonly<Record<string, Decision>> | undefined;
  readonly results?: Readonly<Record<string, ClientResult>> | undefined;
  /** Take the execution up although tools have changed or are gone. */
  readonly allowChangedTools?: boolean | undefined;
}

/**
 * Takes an execution up where its journal is, and drives it to its ending, or until it waits. One that has ended, or that
 * only waits, is reported without being driven. Rejects with `execution_unknown`, also for another tenant's execution,
 * `execution_driven`, `tools_changed`, `call_unknown`, `decision_exists`, `approval_expired`, and as the journal does.
 */
export async function resume(scope: Scope, execution: ExecutionId, work: ResumeWork): Promise<Execution> {
  return takeUp(scope, execution, await readOwn(scope, execution), work);
}

async function takeUp(scope: Scope, execution: ExecutionId, past: Past, work: ResumeWork): Promise<Execution> {
  const header = past.state.header as ProgramHeader;
  const limits = limitsOf(header);
  const own: Scope = { ...scope, limits, language: header.language as Language };
  if (past.outcome) return endedExecution(execution, past, own);
  const records = recordsOf(past.state, execution, work);
  const waiting = waitingOf(past.state);
  // One that cannot be replayed waits where it is driven. Without its driver it has ended.
  const isKept = past.state.unreplayable === undefined || (await isDriven(scope.journal, execution));
  if (waiting && records.length === 0 && isKept) return undriven(execution, past, waiting);
  const here = drivenHere(scope.journal, execution);
  if (here) {
    if (records.length > 0) await decide(scope, execution, work);
    return here.ended;
  }
  const { gone, changed } = changedTools(scope, header);
  if (!work.allowChangedTools) refuseChangedTools(gone, changed);
  await refuseDriven(scope.journal, execution);

  const { language, tenant, signal, leaseMs, journal } = own;
  const visible = new Set(header.tools.map(({ name }) => name));
  const prepared = await prepare(header.source, language, { tenant, signal }, visible);
  const map =
    prepared.ok && prepared.program === header.program
      ? prepared.map
      : {
          source: header.program,
          toSource: (position: { readonly line: number; readonly column: number }) => position,
        };
  const log = await TrackedLog.claim(journal, past.state, { driver: randomUUID(), leaseMs }, records);
  if (isPoison(past.state)) return endPoisoned(execution, past, log);
  const tools = own.gate.tools.visibleTo(["programmatic"]).filter(({ name }) => visible.has(name));
  // What was decided about a tool does not hold for another one of that name.
  const remembered = [...past.remembered, ...records.flatMap((record) => rememberedIn(past.state, record))].filter(
    ({ tool }) => !changed.includes(tool),
  );
  const start = (now: number) => startFrame(now, own, header.program, tools);
  return driveExecution(own, log, { map, start, past: { ...past, remembered } });
}

/**
 * Runs a program under an id of the caller's choice. The same id again joins the running execution, or gives the report
 * of the one that has ended or waits. Rejects with `execution_exists` for another program, language or tenant under the id.
 */
export async function executeOnce(scope: Scope, source: string, execution: ExecutionId): Promise<Execution> {
  try {
    return await execute(scope, source, execution);
  } catch (error) {
    if (!PortcullisError.is(error) || error.code !== "execution_exists") throw error;
  }
  const header = await headerOf(scope.journal, execution);
  const isSame = header?.kind === "program" && header.tenant === scope.tenant && header.language === scope.language;
  if (!isSame || header.source !== source)
    throw new PortcullisError(
      "execution_exists",
      `There is another execution ${JSON.stringify(execution)} already: its program, language or tenant differs. Choose another id.`,
    );
  return drivenHere(scope.journal, execution)?.ended ?? resume(scope, execution, {});
}

/**
 * Takes up every program's execution that has no outcome, that no driver holds, and that does not only wait, one after
 * the other. One with a call that has waited for longer than `waitMs` does not only wait.
 */
export async function* recover(
  scope: Scope,
): AsyncGenerator<{ readonly execution: Execution; readonly tenant: string }> {
  const { journal } = scope;
  for await (const { execution, kind, tenant, lease } of journal.list({ open: true })) {
    const isDriven = (lease !== undefined && lease.until > Date.now()) || drivenHere(journal, execution) !== undefined;
    if (kind !== "program" || isDriven) continue;
    const past = await readPast(journal.read(execution));
    if (waitingOf(past.state) && past.state.unreplayable === undefined) continue;
    try {
      yield { execution: await takeUp({ ...scope, tenant }, execution, past, {}), tenant };
    } catch (error) {
      // Another process has taken it up first.
      if (!PortcullisError.is(error) || (error.code !== "head_moved" && error.code !== "execution_driven")) throw error;
    }
  }
}

/** Number of drivers in a row that may die while the program has the turn. */
const DEATHS = 3;

/** Whether the program itself may be what its drivers died of: they died while it ran, and it got no further. */
function isPoison({ claims, calls, timers }: ExecutionState): boolean {
  return claims >= DEATHS && calls.size === 0 && timers.size === 0;
}

async function endPoisoned(execution: ExecutionId, past: Past, log: TrackedLog): Promise<Execution> {
  const detail = `${DEATHS} hosts died in a row while the program ran`;
  const ending: Ending = { type: "crashed", code: "engine_died", detail };
  await log.append({ type: "outcome", outcome: JSON.stringify(ending), at: Date.now() });
  await log.end(true);
  return undriven(execution, past, ending);
}

/** Notes decisions about calls that wait, without driving the execution. Rejects as `resume` does. */
export async function decide(
  scope: Pick<Scope, "journal" | "tenant">,
  execution: ExecutionId,
  work: Pick<ResumeWork, "decisions" | "results">,
): Promise<void> {
  for (;;) {
    const { state } = await readOwn(scope, execution);
    const records = recordsOf(state, execution, work);
    try {
      await scope.journal.append(execution, state.records, records, { safe: true });
      // A driver in another process reads them when it renews its lease.
      return await drivenHere(scope.journal, execution)?.log.catchUp();
    } catch (error) {
      // Its driver, or another person, has appended in the meantime.
      if (!PortcullisError.is(error) || error.code !== "head_moved") throw error;
    }
  }
}

/** The first record of an execution. */
async function headerOf(journal: Journal, execution: ExecutionId): Promise<Header | undefined> {
  for await (const record of journal.read(execution)) return record.type === "header" ? record : undefined;
  return undefined;
}

/** Reads a program's execution of this tenant. */
async function readOwn({ journal, tenant }: Pick<Scope, "journal" | "tenant">, execution: ExecutionId): Promise<Past> {
  const past = await readPast(journal.read(execution));
  const { header } = past.state;
  if (!header || header.tenant !== tenant)
    throw new PortcullisError("execution_unknown", `The journal holds no execution ${JSON.stringify(execution)}.`);
  if (header.kind !== "program")
    throw optionError("resume(execution)", "the execution of a program", `a ${header.kind}`);
  return past;
}

function recordsOf(
  state: ExecutionState,
  execution: ExecutionId,
  { decisions = {}, results = {} }: ResumeWork,
): readonly ForeignRecord[] {
  const { header, calls, outcome } = state;
  const at = Date.now();
  const find = (id: string): OpenCall => {
    const call = calls.get(Number(id));
    if (!call || String(call.id) !== id || outcome !== undefined)
      throw new PortcullisError(
        "call_unknown",
        `Execution ${JSON.stringify(execution)} has no open call ${JSON.stringify(id)}. Look at what it waits for: portcullis show`,
      );
    if (!isExpired(state, call)) return call;
    throw new PortcullisError(
      "approval_expired",
      `Call ${id} of ${call.tool} has waited for longer than its execution allows (limit waitMs: ${header?.limits.waitMs} ms). Nothing was noted. Take the execution up without an answer for it: the program is told, and goes on.`,
    );
  };
  return [
    ...Object.entries(decisions).map(([id, decision]) => decisionRecord(find(id), decision, at)),
    ...Object.entries(results).map(([id, result]) => resultRecord(find(id), result, at)),
  ];
}

function decisionRecord(call: OpenCall, given: Decision, at: number): DecisionRecord {
  const { allow, done, remember } = given;
  const { id, tool, decided, decision } = call;
  if (decision)
    throw new PortcullisError(
      "decision_exists",
      `Call ${id} of ${tool} was decided already${decision.by === undefined ? "" : `, by ${decision.by}`}: ${decision.allow ? "allowed" : "denied"}. The first decision holds.`,
    );
  if (decided?.decision !== "held")
    throw new PortcullisError("call_unknown", `Call ${id} of ${tool} does not wait for a decision.`);
  if (done !== undefined && decided.code !== "outcome_unknown")
    throw new PortcullisError(
      "call_unknown",
      `Call ${id} of ${tool} was not begun: allow or deny it, without \`done\`.`,
    );
  const place = `decisions[${JSON.stringify(String(id))}]`;
  if (remember !== undefined && (remember !== "execution" || decided.code === "outcome_unknown"))
    throw optionError(`${place}.remember`, '"execution", for a call that was not begun', remember);
  if (done === undefined && typeof allow !== "boolean") throw optionError(`${place}.allow`, "true or false", allow);
  return {
    type: "decision",
    call: String(id),
    allow: done !== undefined || allow === true,
    ...detailsOf(given),
    ...(done === undefined ? {} : { done: requiredText(done.value, `${place}.done.value`) }),
    at,
  };
}

function resultRecord(call: OpenCall, given: ClientResult, at: number): ResultRecord {
  const { id, tool, decided, result } = call;
  if (decided?.decision !== "client")
    throw new PortcullisError("call_unknown", `Call ${id} of ${tool} does not wait for a client's result.`);
  if (result)
    throw new PortcullisError("decision_exists", `Call ${id} of ${tool} has its result already. The first one holds.`);
  const base = { type: "result", call: String(id), at } as const;
  return "error" in given
    ? { ...base, error: given.error }
    : { ...base, value: requiredText(given.value, `results[${JSON.stringify(String(id))}].value`) };
}

function requiredText(value: unknown, option: string): string {
  const text = jsonTextOf(value);
  if (text === undefined) throw optionError(option, "a value that JSON can hold", value);
  return text;
}

function rememberedIn(state: ExecutionState, record: ForeignRecord): readonly RememberedDecision[] {
  const remembered = record.type === "decision" ? rememberedDecision(state, record) : undefined;
  return remembered ? [remembered] : [];
}

interface ChangedTools {
  readonly gone: readonly string[];
  readonly changed: readonly string[];
}

function changedTools({ gate }: Scope, { tools }: ProgramHeader): ChangedTools {
  const known = new Map(gate.tools.visibleTo(["programmatic"]).map((tool) => [tool.name, toolDigest(tool)]));
  const gone = tools.filter(({ name }) => !known.has(name)).map(({ name }) => name);
  const changed = tools
    .filter(({ name, digest }) => known.has(name) && known.get(name) !== digest)
    .map(({ name }) => name);
  return { gone, changed };
}

function refuseChangedTools(gone: readonly string[], changed: readonly string[]): void {
  if (gone.length + changed.length === 0) return;
  const parts = [
    ...(gone.length === 0 ? [] : [`gone: ${gone.join(", ")}`]),
    ...(changed.length === 0 ? [] : [`changed: ${changed.join(", ")}`]),
  ];
  throw new PortcullisError(
    "tools_changed",
    `The tools are not those that the execution began with (${parts.join("; ")}). Give it the tools it began with, or resume it with allowChangedTools.`,
  );
}

async function isDriven(journal: Journal, execution: ExecutionId): Promise<boolean> {
  const { lease } = await journal.find(execution);
  return drivenHere(journal, execution) !== undefined || (lease !== undefined && lease.until > Date.now());
}

async function refuseDriven(journal: Journal, execution: ExecutionId): Promise<void> {
  const { lease } = await journal.find(execution);
  if (!lease || lease.until <= Date.now()) return;
  throw new PortcullisError(
    "execution_driven",
    `Execution ${JSON.stringify(execution)} is driven by another process until ${new Date(lease.until).toISOString()}. Decisions reach it by \`decide\`.`,
  );
}

const NO_TIMES = { queuedMs: 0, runningMs: 0, wallMs: 0, approvalMs: 0, peakMemoryBytes: 0 };

function undriven(execution: ExecutionId, past: Past, ending: Ending): Execution {
  const { state, logs, lines, resultBytes, outcome } = past;
  const { turns, restarts, connections, settled } = state;
  return {
    // A journal may come from elsewhere, and its usage may have any names.
    ...NO_TIMES,
    ...outcome?.usage,
    execution,
    ending,
    logs: logs.logs,
    notes: outcome?.notes ?? [],
    remarks: settled?.notes ?? [],
    turns,
    restarts,
    connections,
    calls: lines,
    resultBytes,
  };
}

/** The report's facts of an execution that has ended, from its journal alone. */
async function endedExecution(execution: ExecutionId, past: Past, { gate, limits, tenant }: Scope): Promise<Execution> {
  const ending = JSON.parse(past.outcome?.outcome ?? "null") as Ending;
  if (ending.type !== "completed") return undriven(execution, past, ending);
  const body = past.state.settled?.body;
  const share = gate.held.share(tenant, limits.totalBytes);
  try {
    const returned =
      body === undefined ? { value: undefined } : await readReturned(body, limits.outputBytes, share.lane);
    if (!returned) throw new PortcullisError("journal_invalid", `The value of execution ${execution} cannot be read.`);
    return undriven(execution, past, { type: "completed", ...returned, text: body });
  } finally {
    share.end();
  }
}
