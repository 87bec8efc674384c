import { flag, object, type OptionsOf, pick } from "../base/index.ts";
import { EXECUTE_RULES, type WithContext, type WithResult } from "./execute-options.ts";
import type { ClientResult, Decision } from "./decide.ts";

export const RESUME_RULES = {
  /** Decisions about calls that wait, by call id. */
  decisions: object<Readonly<Record<string, Decision>>>(),
  /** Results of calls that a client answers, by call id. */
  results: object<Readonly<Record<string, ClientResult>>>(),
  /** Take the execution up although tools have changed or are gone since it began. */
  allowChangedTools: flag(),
  ...pick(EXECUTE_RULES, "approve", "policy", "tools", "onEvent", "signal", "context"),
  /**
   * The schema of what the program returns, which the execution began with. An execution that began with a schema goes
   * on only with the same schema. A plain schema (`jsonSchema`) is taken from the journal by default.
   */
  result: EXECUTE_RULES.result,
};

export type ResumeOptions<Context = unknown, Value = unknown> = WithResult<
  WithContext<OptionsOf<typeof RESUME_RULES>, Context>,
  Value
>;
