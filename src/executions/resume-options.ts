import { flag, object, type OptionsOf } from "../base/index.ts";
import { EXECUTE_RULES, type WithContext, type WithResult } from "./execute-options.ts";
import type { ClientResult, Decision } from "./decide.ts";

const { context, approve, policy, onEvent, signal, tools, result } = EXECUTE_RULES;

export const RESUME_RULES = {
  /** Decisions about calls that wait, by call id. */
  decisions: object<Readonly<Record<string, Decision>>>(),
  /** Results of calls that a client answers, by call id. */
  results: object<Readonly<Record<string, ClientResult>>>(),
  /** Take the execution up although tools have changed or are gone since it began. */
  allowChangedTools: flag(),
  /** The host's own value, like the user of a request. Handlers and `approve` get it; a program and a model do not. */
  context,
  /**
   * Decides about calls that need approval, in place of the runtime's `approve`. It is also asked about calls that wait.
   */
  approve,
  /** Asked about every call besides the runtime's `policy`, as the execution began. */
  policy,
  /**
   * The schema of what the program returns, which the execution began with. An execution that began with a schema goes
   * on only with the same schema. A plain schema (`jsonSchema`) is taken from the journal by default.
   */
  result,
  /** The tools that the program may use, by name; all of the runtime's by default. */
  tools,
  /** Called with each event of the execution, besides the runtime's `onEvent`. What it throws is ignored. */
  onEvent,
  /** Cancels the execution. */
  signal,
};

export type ResumeOptions<Context = unknown, Value = unknown> = WithResult<
  WithContext<OptionsOf<typeof RESUME_RULES>, Context>,
  Value
>;
