import type { ResumeAgentOptions, SendOptions } from "../conversations/agent-options.ts";
import type { AgentReport } from "../conversations/agent-report.ts";
import type { AgentScope } from "../conversations/agent-scope.ts";
import type { UserMessages } from "../conversations/prompt/said-message.ts";
import { checkValue, type ExecutionId, fieldOf, readOptions } from "../base/index.ts";
import type { ClientResult, Decision } from "../executions/decide.ts";
import { resultSchemaOf } from "../executions/drive/ending/result-schema.ts";
import type { ContextArguments } from "../executions/execute-options.ts";
import type { Execution } from "../executions/execution.ts";
import { findOwn } from "../executions/from-journal/past-execution.ts";
import type { Replayed } from "../executions/guest/replay-turns.ts";
import { type Report, reportOf } from "../executions/output/report.ts";
import { RESUME_RULES, type ResumeOptions } from "../executions/resume-options.ts";
import { readRecords } from "../journal/reading/read-records.ts";
import type { JournalRecord } from "../journal/record.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { ExecutionFacts } from "./executions/list-executions.ts";
import { DECISIONS, RESULTS, SIGNAL_RULES, type SignalOptions } from "./options.ts";
import { type Listener, listenerOfPrograms } from "./observers.ts";
import type { ScopeOptions } from "./scopes.ts";

/** What the journal tells of an execution or a conversation. */
export interface ExecutionStatus extends Omit<ExecutionFacts, "ended"> {
  /** Of a program that has ended or waits. */
  readonly report?: Report;
}

export interface HandleParts {
  readonly base: AgentScope;
  readonly run: <Value>(
    subject: string,
    options: ScopeOptions,
    listener: Listener | undefined,
    work: (scope: AgentScope) => Promise<Value>,
  ) => Promise<Value>;
  readonly tools: () => ToolSet;
}

export function reportIn<Value>({ gate, observed, telemetry }: AgentScope, execution: Execution): Report<Value> {
  const report = reportOf<Value>(execution, gate.tools, { shown: observed?.shown });
  telemetry?.noteOutput(report.usage.bytesOut);
  return report;
}

/**
 * An execution or a conversation in a runtime's journal. Its methods reject with `execution_unknown` if the journal does
 * not hold the id, and for another tenant's.
 */
export class ExecutionHandle<Context = unknown> {
  readonly id: ExecutionId;
  readonly #parts: HandleParts;

  /** @internal */
  constructor(id: ExecutionId, parts: HandleParts) {
    this.id = id;
    this.#parts = parts;
  }

  /** What the journal tells: the state, and the report of a program that has ended or waits. It drives nothing. */
  async status(): Promise<ExecutionStatus> {
    const { readFacts } = await import("./executions/list-executions.ts");
    return this.#statusOf(await readFacts(this.#parts.base, this.id));
  }

  /**
   * Resolves with the status once the execution has ended, or waits for decisions or results, whichever process drives it.
   * Rejects as `status` does, with the reason of `signal`, and with `runtime_closed`.
   */
  async wait(options: SignalOptions = {}): Promise<ExecutionStatus> {
    const { signal } = readOptions("wait", options, SIGNAL_RULES);
    const { base } = this.#parts;
    const until = signal ? AbortSignal.any([signal, base.signal]) : base.signal;
    const { waitForRest } = await import("./executions/list-executions.ts");
    return this.#statusOf(await waitForRest(base, this.id, until));
  }

  /** Notes decisions about calls that wait, by call id. It drives nothing. Rejects as `resume` does. */
  async decide(decisions: Readonly<Record<string, Decision>>, options: SignalOptions = {}): Promise<void> {
    const { signal } = readOptions("decide", options, SIGNAL_RULES);
    checkValue("decide(decisions)", decisions, DECISIONS);
    const { decideFor: decide } = await import("./executions/decide.ts");
    const { journal, tenant } = this.#parts.base;
    await decide({ journal, tenant, signal }, this.id, { decisions });
  }

  /**
   * Notes results of calls that a client answers (`execute: "client"`), by call id. It drives nothing. Rejects as `resume`
   * does.
   */
  async answer(results: Readonly<Record<string, ClientResult>>, options: SignalOptions = {}): Promise<void> {
    const { signal } = readOptions("answer", options, SIGNAL_RULES);
    checkValue("answer(results)", results, RESULTS);
    const { answer } = await import("./executions/decide.ts");
    const { journal, tenant } = this.#parts.base;
    await answer({ journal, tenant, signal, tools: this.#parts.tools() }, this.id, results);
  }

  /**
   * Takes up what waits, or whose host died, and drives it to its ending or until it waits again. What has ended gives its
   * report, and nothing runs. A conversation takes `model`, the model that it began with: no recorded turn is asked for
   * again, and a call of one of its programs has both ids, like `call_2/17`. Rejects with `call_unknown`,
   * `decision_exists`, `tools_changed`, `execution_driven`, `head_moved`, and as `execute` and `agent` do.
   */
  async resume<Value = unknown>(
    ...argument: ContextArguments<ResumeOptions<Context, Value>, Context>
  ): Promise<Report<Value>>;
  async resume<Answer = string>(options: ResumeAgentOptions<Context, Answer>): Promise<AgentReport<Answer>>;
  async resume(options: object = {}): Promise<Report | AgentReport<unknown>> {
    return fieldOf(options, "model") === undefined ? this.#resume(options) : this.#resumeAgent(options);
  }

  async #resume(options: object): Promise<Report> {
    const read = readOptions("resume", options, RESUME_RULES);
    const result = resultSchemaOf(read.result, "resume({ result })");
    return this.#parts.run("resume", read, listenerOfPrograms(read.onEvent), async (scope) => {
      const { resume } = await import("../executions/resume.ts");
      const resumed = await resume(scope, this.id, { ...read, result, asks: read.approve !== undefined });
      return reportIn(scope, resumed);
    });
  }

  async #resumeAgent(options: object): Promise<AgentReport<unknown>> {
    const [{ resumeAgent }, { resumedOptions }] = await Promise.all([
      import("../conversations/resume-agent.ts"),
      import("../conversations/agent-options.ts"),
    ]);
    const read = resumedOptions("resume", options);
    const answer = resultSchemaOf(read.answer, "resume({ answer })");
    return this.#parts.run("resume", read, read.onEvent, (scope) =>
      resumeAgent<unknown>(scope, this.id, { ...read, answer, asks: read.approve !== undefined }),
    );
  }

  /**
   * Sends a message to a conversation that no host holds, drives it to its next ending, and leaves it resting in the
   * journal: for hosts that keep nothing between two messages. Begins the conversation if the journal does not have the
   * id; its options are then those of `conversation`. Without a message it goes on from where it is. Rejects with
   * `execution_exists`, `conversation_moved`, `conversation_busy`, `conversation_ended`, and as `agent` and `resume` do.
   */
  async send<Answer = string>(
    message: UserMessages | undefined,
    options: SendOptions<Context, Answer>,
  ): Promise<AgentReport<Answer>> {
    const { sendMessage: send } = await import("../conversations/drive/send-once.ts");
    return send<Answer>(this.id, message, options, (read, work) => this.#parts.run("send", read, read.onEvent, work));
  }

  /** The records of the journal, the header first. */
  async records(): Promise<readonly JournalRecord[]> {
    const { base } = this.#parts;
    await findOwn(base, this.id);
    return Array.fromAsync(readRecords(base.journal, this.id, { tenant: base.tenant }));
  }

  /**
   * Runs the program again in a fresh guest, with the events of the journal, and compares its turns with the journal.
   * No handler runs, and the limits are the narrower of the journal's and the runtime's. Rejects with `option_invalid` for
   * a conversation, with `journal_invalid` or `journal_version` for records that cannot be read, and with `runtime_closed`.
   */
  async replay(): Promise<Replayed> {
    const { base } = this.#parts;
    const { journal, sandbox, signal, tenant, gate, limits } = base;
    const { replay } = await import("../executions/replay.ts");
    await findOwn(base, this.id);
    const records = () => readRecords(journal, this.id, { tenant, mayWait: true });
    return replay(records, sandbox, signal, (bytes) => gate.held.count(bytes), limits);
  }

  #statusOf({ ended, ...facts }: ExecutionFacts): ExecutionStatus {
    return { ...facts, report: ended && reportOf(ended, this.#parts.base.gate.tools) };
  }
}
