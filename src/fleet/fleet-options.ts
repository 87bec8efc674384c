import { RECOVER_RULES, type RecoverOptions } from "../executions/recover-options.ts";
import { abortSignal, listener, type OptionsOf, wholeNumber } from "../option-rules/options.ts";
import { EXECUTE_RULES, TENANT } from "../programs/execute-options.ts";

/** A worker has the tools, the context and the listeners: what is submitted is the program alone. */
export const SUBMIT_RULES = {
  /** Id of the execution, chosen by the caller. The same id again gives the same execution. */
  execution: EXECUTE_RULES.execution,
  /** Id of the execution that this program corrects: its equal calls are answered as before, as `execute` says. */
  after: EXECUTE_RULES.after,
  /** Age up to which results of calls that only read are given again, in milliseconds; 300,000 by default. Only with `after`. */
  maxAgeMs: EXECUTE_RULES.maxAgeMs,
  /** Language of the program, JavaScript by default. */
  language: EXECUTE_RULES.language,
  /** Schema of what the program returns. Workers know a plain schema (`jsonSchema`) from the journal, others by `work({ result })`. */
  result: EXECUTE_RULES.result,
  /** Changes to the limits of the runtime. */
  limits: EXECUTE_RULES.limits,
  /** The tools that the program may use, by name. All of the runtime's by default. */
  tools: EXECUTE_RULES.tools,
  /** The tenant that the program runs for; the runtime's by default. */
  tenant: TENANT,
  /** Holds the source of the program for a decision before it starts; as the runtime does by default. */
  approvePrograms: EXECUTE_RULES.approvePrograms,
  /** Gives up before the program is stored. */
  signal: abortSignal(),
};

export type SubmitOptions = OptionsOf<typeof SUBMIT_RULES>;

export const WAIT_RULES = {
  /** The tenant of the execution; the runtime's by default. Another tenant's execution is unknown. */
  tenant: TENANT,
  /** Waits no longer. */
  signal: abortSignal(),
};

export type WaitOptions = OptionsOf<typeof WAIT_RULES>;

export const WORK_RULES = {
  ...RECOVER_RULES,
  /** Number of executions that are driven at once; 8 by default. */
  concurrency: RECOVER_RULES.concurrency,
  /**
   * Executions of one tenant that all workers of the fleet drive at once, by the leases in the journal; any number by
   * default. Those of other tenants come first meanwhile. Give all workers the same number.
   */
  perTenant: wholeNumber({ min: 1 }),
  /**
   * How often the worker looks for executions that have neither a driver nor a wake, in milliseconds; 1,000 by default.
   * Each worker of a fleet does so.
   */
  reconcileMs: wholeNumber({ min: 100, max: 3_600_000, default: 1000 }),
  /** Told of executions that could not be driven, and of failures of the queue. They are tried again. */
  onError: listener<(error: unknown) => void>(),
};

export type WorkOptions<Context = unknown> = RecoverOptions<Context> &
  Pick<OptionsOf<typeof WORK_RULES>, "perTenant" | "reconcileMs" | "onError">;
