import { randomUUID } from "node:crypto";
import type { Language } from "../../bridge/frames.ts";
import { PortcullisError } from "../errors.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import type { Journal } from "../journal/journal.ts";
import type { ProgramHeader } from "../journal/record.ts";
import { toolDigest } from "../tools/tool-digest.ts";
import { decide, recordsOf, type Said } from "./decide.ts";
import { drivenHere } from "./driven-here.ts";
import { driveExecution, type Execution, startFrame } from "./execute.ts";
import { limitsOf } from "./limits.ts";
import { type Past, readOwn, withoutOpenCalls } from "./past-execution.ts";
import { endPoisoned, isPoison } from "./poison.ts";
import { refuseWrongResults } from "./refuse-results.ts";
import { prepare } from "./prepare/prepare.ts";
import type { Scope } from "./scope.ts";
import { TrackedLog } from "./tracked-log.ts";
import { endedExecution, undriven } from "./undriven.ts";
import { changedVersions } from "./versions.ts";
import { waitingOf } from "./waiting.ts";

export interface ResumeWork extends Said {
  /** Take the execution up although tools have changed or are gone. */
  readonly allowChangedTools?: boolean | undefined;
}

/**
 * Takes an execution up where its journal is, and drives it to its ending, or until it waits. One that has ended, or that
 * only waits, is reported without being driven. Rejects with `execution_unknown`, also for another tenant's execution,
 * `execution_driven`, `tools_changed`, `call_unknown`, `decision_exists`, and as the journal does.
 */
export async function resume(scope: Scope, execution: ExecutionId, work: ResumeWork): Promise<Execution> {
  return takeUp(scope, execution, await readOwn(scope, execution), work);
}

/** Like `resume`, for an execution that has been read. */
export async function takeUp(scope: Scope, execution: ExecutionId, past: Past, work: ResumeWork): Promise<Execution> {
  const header = past.state.header as ProgramHeader;
  const limits = limitsOf(header);
  const own: Scope = { ...scope, limits, language: header.language as Language };
  if (past.outcome) return endedExecution(execution, past, own);
  const records = recordsOf(past.state, execution, work);
  const waiting = waitingOf(past.state);
  if (waiting && records.length === 0) return undriven(execution, past, waiting);
  await refuseWrongResults(records, past.state, scope.gate.tools);
  const here = drivenHere(scope.journal, execution);
  if (here) {
    if (records.length > 0) await decide(scope, execution, work);
    return here.ended;
  }
  if (!work.allowChangedTools) refuseChangedTools(scope, header);
  refuseLanguage(own, execution);
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
  const note = past.state.turns > 0 ? changedVersions(header) : undefined;
  const notes = note === undefined ? [] : [note];
  return driveExecution(own, log, {
    notes,
    map,
    start: (now) => startFrame(now, own, header.program, tools),
    past: withoutOpenCalls(past),
  });
}

function refuseChangedTools({ gate }: Scope, { tools }: ProgramHeader): void {
  const known = new Map(gate.tools.visibleTo(["programmatic"]).map((tool) => [tool.name, toolDigest(tool)]));
  const gone = tools.filter(({ name }) => !known.has(name)).map(({ name }) => name);
  const changed = tools
    .filter(({ name, digest }) => known.has(name) && known.get(name) !== digest)
    .map(({ name }) => name);
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

function refuseLanguage({ sandbox, language }: Scope, execution: ExecutionId): void {
  if (sandbox.languages.includes(language)) return;
  throw new PortcullisError(
    "sandbox_unavailable",
    `Execution ${JSON.stringify(execution)} is in ${JSON.stringify(language)}, and the ${sandbox.name} sandbox runs ${sandbox.languages.join(" and ")}. Take it up with a sandbox that runs its language.`,
  );
}

async function refuseDriven(journal: Journal, execution: ExecutionId): Promise<void> {
  const { lease } = await journal.find(execution);
  if (!lease || lease.until <= Date.now()) return;
  throw new PortcullisError(
    "execution_driven",
    `Execution ${JSON.stringify(execution)} is driven by another process until ${new Date(lease.until).toISOString()}. Decisions reach it by \`decide\`.`,
  );
}
