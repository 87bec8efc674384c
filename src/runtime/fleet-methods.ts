/*
 * What a fleet does with a runtime: it hands programs to the workers, and makes it a worker.
 */
import { randomUUID } from "node:crypto";
import { REASONS } from "../conversations/drive/interruption.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";
import {
  type ExecutionId,
  now,
  optionError,
  PortcullisError,
  readOptions,
  type CheckedOptions,
} from "../base/index.ts";
import { takeUpOne, type TakeUpWork } from "./executions/recover.ts";
import type { RECOVER_RULES } from "./executions/recover-options.ts";
import { type Fleet, type FleetMember, SUBMIT_RULES, type SubmitOptions, WORK_RULES, type Worker } from "./fleet.ts";
import { resultSchemaOf } from "../executions/drive/ending/result-schema.ts";
import { correctedBy } from "../executions/execute-options.ts";
import type { Scope } from "../executions/scope.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { ScopeOptions } from "./scopes.ts";
import { findEarlierOf, type NewProgram, programHeader, refuseReservedName } from "../executions/execute.ts";
import type { Ending } from "../executions/outcome.ts";
import { resultKinds, prepare } from "../executions/prepare/prepare.ts";
import { tooLargeText } from "../executions/prepare/refuse-text.ts";
import { sameProgram } from "../executions/resume.ts";
import { refuseOther } from "../executions/run-under-id.ts";

export interface MemberParts {
  readonly fleet: Fleet;
  readonly leaseMs: number;
  readonly tools: () => ToolSet;
  readonly closing: AbortSignal;
  /** The scope of one method, changed by its options. `subject` is the method, for errors. */
  readonly scopeOf: (subject: string, options: ScopeOptions) => Promise<AgentScope>;
  readonly takingUp: (subject: string, options: CheckedOptions<typeof RECOVER_RULES>) => TakeUpWork;
  /** Lets the closing of the runtime wait for work. */
  readonly untilEnded: <Value>(work: Promise<Value>) => Promise<Value>;
}

export function memberOf<Context>(parts: MemberParts): FleetMember<Context> {
  return {
    submit: (program, options) => submit(parts, program, options),
    work: (options) => work(parts, options),
  };
}

async function submit(member: MemberParts, program: unknown, options: SubmitOptions): Promise<ExecutionId> {
  const read = readOptions("submit", options, SUBMIT_RULES);
  const result = resultSchemaOf(read.result, "submit({ result })");
  if (typeof program !== "string") throw optionError("submit(program)", "source text", program);
  const { id: execution = randomUUID() } = read;
  const scope = await member.scopeOf("submit", read);
  const corrects = correctedBy(read, "submit");
  await member.untilEnded(submitProgram(scope, program, { execution, result, corrects }));
  return execution;
}

async function work(member: MemberParts, options: object): Promise<Worker> {
  const read = readOptions("work", options, WORK_RULES);
  const { concurrency, reconcileMs, perTenant, only, onError } = read;
  const { leaseMs, closing, untilEnded } = member;
  const takingUp = (leaving: AbortSignal): TakeUpWork => ({
    ...member.takingUp("work", {
      ...read,
      signal: (one) => {
        const own = read.signal?.(one);
        return own ? AbortSignal.any([own, leaving]) : leaving;
      },
    }),
    needsSameProtocol: true,
  });
  return member.fleet.startWorker({
    concurrency,
    leaseMs,
    reconcileMs,
    perTenant,
    only: (one) => only?.(one) ?? true,
    reasonOf: (request) => REASONS[request](),
    tools: member.tools,
    isWrite: (name) => (member.tools().get(name)?.effect ?? "write") === "write",
    takeUp: (summary, takesSuspects, leaving) => takeUpOne(takingUp(leaving), summary, takesSuspects),
    untilEnded,
    closing,
    onError: (error) => onError?.(error),
  });
}

type Submitted = Pick<NewProgram, "execution" | "result" | "corrects">;

/**
 * Resolves once the header of the execution is in the journal. A program that cannot be run has ended then, as `failed`.
 * The same program again under the same id changes nothing. Rejects with `execution_exists` for another one, with
 * `program_too_large` for a text that no journal is to keep, as `findEarlier` does, and as the journal does.
 */
async function submitProgram(scope: Scope, source: string, { execution, result, corrects }: Submitted): Promise<void> {
  const { gate, journal, language, tenant, signal, telemetry } = scope;
  refuseReservedName(scope);
  const tooLarge = tooLargeText(source);
  if (tooLarge) throw new PortcullisError("program_too_large", tooLarge.message);
  signal.throwIfAborted();
  // The worker finds it again. What cannot be gone on from is refused here.
  if (corrects) await findEarlierOf(scope, corrects);
  const tools = gate.tools.visibleTo(["programmatic"]);
  const prepared = await prepare(source, language, { tenant, signal }, resultKinds(tools));
  signal.throwIfAborted();
  const program = prepared.ok ? prepared.program : source;
  const header = programHeader(scope, { execution, source, program, result, corrects, trace: telemetry?.here });
  try {
    const head = await journal.create(header);
    if (prepared.ok) return;
    const ending: Ending = { type: "failed", fault: prepared.fault };
    await journal.append(execution, head, [{ type: "outcome", outcome: JSON.stringify(ending), at: now() }]);
  } catch (error) {
    if (!PortcullisError.is(error)) throw error;
    // A worker was faster, and finds the same fault.
    if (error.code === "head_moved") return;
    if (error.code !== "execution_exists") throw error;
    await refuseOther(scope, sameProgram(scope, source, { execution, result, corrects }));
  }
}
