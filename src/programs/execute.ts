import { randomBytes, randomUUID } from "node:crypto";
import { frameText, PROTOCOL_VERSION, type StartBody } from "../../bridge/frames.ts";
import type { CallLine } from "../gate/call-line.ts";
import type { CallEvent } from "../gate/call-ledger.ts";
import { headerBase } from "../gate/header-base.ts";
import type { ArtifactPlace } from "../gate/session-artifacts.ts";
import { UnreadAnswers } from "../gate/unread-answers.ts";
import { ArtifactSpace } from "../journal/artifact-space.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { leavesOpen } from "../journal/execution-log.ts";
import type { OutcomeRecord } from "../journal/record.ts";
import { PortcullisError } from "../errors.ts";
import { approveProgram } from "./approve-program.ts";
import { drive, type Driven, NOT_DRIVEN } from "./drive.ts";
import { whileDriven } from "./driven-here.ts";
import { keepLarge, type KeptValue, VALUE_CALL } from "./keep-value.ts";
import { heldAllowance } from "./limits.ts";
import { approverOfProgram, PROGRAM_CALL, RUN_PROGRAM, type Unreplayable } from "./execution-state.ts";
import type { Ending, Outcome } from "./outcome.ts";
import type { Past } from "./past-execution.ts";
import { positionalFields } from "../tools/positional-fields.ts";
import type { WorkSpan } from "../telemetry/telemetry.ts";
import type { Tool } from "../tools/tool.ts";
import { CALLING_FUNCTIONS } from "../tools/tool-name.ts";
import { prepare } from "./prepare/prepare.ts";
import { beginSpan, endSpan, inSpan } from "./program-span.ts";
import { recordOfResult, type ResultSchema } from "./result-schema.ts";
import { redactShown, shownExecution } from "./redact-execution.ts";
import type { Scope } from "./scope.ts";
import type { SourceMap } from "./source-map.ts";
import { TrackedLog } from "./tracked-log.ts";
import { programVersions } from "./versions.ts";
import type { Waiting } from "./waiting.ts";

/** An event of an execution. */
export type ExecutionEvent =
  | { readonly type: "execution_started"; readonly execution: ExecutionId }
  /**
   * It waits for a place among those that run at once (`createRuntime({ executions })`). `execution` is its id if its caller
   * chose one, else empty.
   */
  | {
      readonly type: "execution_queued";
      readonly execution: ExecutionId;
      readonly tenant: string;
      readonly running: number;
      readonly waiting: number;
    }
  | { readonly type: "output"; readonly execution: ExecutionId; readonly text: string }
  | {
      readonly type: "execution_waiting";
      readonly execution: ExecutionId;
      readonly waiting: Waiting;
      /**
       * Why the program keeps its process and its driver while it waits: it used something that a replay cannot reproduce.
       * Missing for a program that was put down.
       */
      readonly held?: Unreplayable;
    }
  | { readonly type: "execution_ended"; readonly execution: ExecutionId; readonly outcome: Outcome }
  | CallEvent;

/** The result of one execution of one program. */
export interface Execution extends Driven {
  readonly execution: ExecutionId;
  readonly calls: readonly CallLine[];
  /** UTF-8 bytes of all results that tools returned. */
  readonly resultBytes: number;
  /** Characters that were taken out of what is shown; missing where nothing is redacted. */
  readonly redacted?: number;
  /** Who approved the program itself; undefined where it needed no approval. */
  readonly approvedBy?: string | undefined;
  /** Values that it has kept; undefined for a program that was refused before it started. */
  readonly kept?: Kept;
}

/** The values that a program has kept outside of its result. */
export interface Kept {
  /** Its own artifacts, and those of its conversation. */
  readonly place: ArtifactPlace;
  /** The artifact with its value, if the value is too large for a model. */
  readonly value?: KeptValue | undefined;
}

/**
 * Runs a program from its source to its ending, or until it waits. Anything the program does results in an `Ending`.
 * Rejects only if the journal cannot be written, if the sandbox cannot open a guest, or with `execution_exists`.
 */
export async function execute(
  scope: Scope,
  source: string,
  execution: ExecutionId = randomUUID(),
  result?: ResultSchema,
): Promise<Execution> {
  const { sandbox, gate, journal, language, leaseMs, tenant, signal, onEvent, approvePrograms = false } = scope;
  if (approvePrograms && gate.tools.get(RUN_PROGRAM))
    throw new PortcullisError(
      "tools_conflict",
      `A tool is called "${RUN_PROGRAM}", a name that is reserved for the approval of programs: rename it, or leave out approvePrograms.`,
    );

  const span = beginSpan(scope, { execution, source });
  const visible = gate.tools.visibleTo(["programmatic"]);
  const tools = visible.map(({ name }) => name);
  const prepared = await prepare(
    source,
    language,
    { tenant, signal },
    new Set([...tools, ...CALLING_FUNCTIONS.values()]),
  );
  if (!prepared.ok) {
    const ending: Ending = signal.aborted ? { type: "cancelled" } : { type: "failed", fault: prepared.fault };
    const refused = await shownExecution({ execution, ending, calls: [], resultBytes: 0, ...NOT_DRIVEN }, scope);
    await endSpan(span, refused);
    return refused;
  }
  const { program, map } = prepared;

  const log = await TrackedLog.create(
    journal,
    {
      ...headerBase(execution, scope, visible, programVersions(), span?.traceparent),
      kind: "program",
      language,
      sandbox: sandbox.name,
      program,
      source,
      ...(approvePrograms ? { needsApproval: true } : {}),
      ...(result ? recordOfResult(result) : {}),
    },
    { driver: randomUUID(), leaseMs },
  );

  onEvent({ type: "execution_started", execution });
  return driveExecution(scope, log, { map, result, span, start: (now) => startFrame(now, scope, program, visible) });
}

/** The parts that drive an execution from the end of its log. */
export interface Work {
  readonly map: SourceMap;
  /** Text of the `start` frame. */
  readonly start: (now: number) => string;
  /** What the program has to return. */
  readonly result?: ResultSchema | undefined;
  /** What the journal tells of an execution that is taken up again. */
  readonly past?: Past;
  /** Sentences for the reader of the report. */
  readonly notes?: readonly string[];
  /** The span of this driver, which ends with its driving. */
  readonly span?: WorkSpan | undefined;
}

/** Drives an execution to its ending, or until it waits. Rejects if the journal or the sandbox fails, or if another driver has taken it over. */
export function driveExecution(scope: Scope, log: TrackedLog, work: Work): Promise<Execution> {
  return whileDriven(
    scope.journal,
    log,
    inSpan(work.span, () => untilEnded(scope, log, work)),
  );
}

async function untilEnded(
  scope: Scope,
  log: TrackedLog,
  { map, result, start, past, span, notes = [] }: Work,
): Promise<Execution> {
  const { sandbox, gate, language, limits, tenant, signal, above, onEvent, redactor } = scope;
  const { execution } = log;
  const share = gate.held.share(tenant, heldAllowance(limits, log.isDurable));
  const place = scope.artifacts ?? {
    space: new ArtifactSpace(scope.journal, execution, past?.artifacts, log),
    prefix: "",
  };
  const session = gate.open({
    execution,
    scope,
    share,
    callers: ["programmatic"],
    language,
    limits,
    above,
    canWait: above?.canWait ?? true,
    unread: new UnreadAnswers(),
    artifacts: place,
    past,
    log,
    spans: span,
    onEvent,
  });
  log.onForeign = (records) => session.take(records);
  let driven: Driven;
  let value: KeptValue | undefined;
  let shown: Driven & { readonly redacted?: number };
  try {
    const ending = await approveProgram(scope, log, session);
    const own = ending
      ? { ...NOT_DRIVEN, ending }
      : await drive({
          sandbox,
          open: { language, limits, tenant, turnBytes: share.allowed },
          limits,
          log,
          session,
          tools: gate.tools,
          start,
          map,
          past,
          result,
          signal,
          onOutput: (text) => onEvent({ type: "output", execution, text }),
          onKept: (waiting, held) => onEvent({ type: "execution_waiting", execution, waiting, held }),
        });
    driven = own.ending.type === "waiting" ? own : { ...own, notes: [...own.notes, ...notes] };
    const text = own.ending.type === "completed" ? own.ending.text : undefined;
    if (text !== undefined && Buffer.byteLength(text) > limits.outputBytes)
      value = await keepLarge(place, text, VALUE_CALL, limits, { lane: share.lane, redactor });
    shown = redactor ? await redactShown(driven, redactor, limits.outputBytes, share.lane) : driven;
  } catch (error) {
    // Its next driver, or that of its conversation, continues it.
    if (leavesOpen(error)) {
      await log.leave(error);
      throw error;
    }
    await session.ended.catch(() => {});
    // An execution that was taken up and could not continue here may continue elsewhere. A new one without an outcome
    // would seem to run for ever.
    const { isTakenUp } = log.state;
    if (!isTakenUp) {
      const ending: Ending = { type: "crashed", code: "engine_died", detail: String(error) };
      await log.append({ type: "outcome", outcome: outcomeText(ending), at: Date.now() }).catch(() => {});
    }
    await log.end(!isTakenUp);
    throw error;
  } finally {
    share.end();
  }
  await session.ended;
  const { ending } = shown;
  if (ending.type === "waiting") onEvent({ type: "execution_waiting", execution, waiting: ending });
  try {
    if (ending.type !== "waiting") await log.append(outcomeRecord(driven));
  } finally {
    // Also where the outcome could not be written: another driver writes it once the lease has ended.
    await log.end(ending.type !== "waiting");
  }
  if (ending.type !== "waiting") onEvent({ type: "execution_ended", execution, outcome: outcomeOf(ending) });
  // The program's own approval is none of its calls.
  const calls = session.lines.filter(({ callId }) => callId !== PROGRAM_CALL);
  const approvedBy = approverOfProgram(log.state);
  return { execution, calls, resultBytes: session.usage.resultBytes, approvedBy, kept: { place, value }, ...shown };
}

/** Text of the frame that starts a program with these tools. */
export function startFrame(now: number, { limits, language }: Scope, program: string, tools: readonly Tool[]): string {
  const { calls, logBytes, frameBytes } = limits;
  const body: StartBody = {
    program,
    tools: tools.map(({ name }) => name),
    ...(language === "python" ? { positional: positionalFields(tools) } : {}),
  };
  return frameText({
    kind: "start",
    protocol: PROTOCOL_VERSION,
    now,
    seed: randomBytes(16).toString("hex"),
    limits: { calls, logBytes, frameBytes },
    body: JSON.stringify(body),
  });
}

/** The ending without the host's own fields. */
function outcomeOf(ending: Ending): Outcome {
  return ending.type === "completed" ? { type: "completed", value: ending.value } : ending;
}

function outcomeRecord({ ending, notes, queuedMs, runningMs, wallMs, peakMemoryBytes }: Driven): OutcomeRecord {
  return {
    type: "outcome",
    outcome: outcomeText(ending),
    ...(notes.length === 0 ? {} : { notes }),
    usage: { queuedMs, runningMs, wallMs, peakMemoryBytes },
    at: Date.now(),
  };
}

/** The ending without the value, which is in the journal's last turn. */
function outcomeText(ending: Ending): string {
  return JSON.stringify(ending.type === "completed" ? { type: ending.type } : ending);
}
