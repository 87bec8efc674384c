import type { Language } from "../../bridge/frames.ts";
import type { Approve } from "../gate/approval.ts";
import { abortSignal, callback, option, type OptionsOf, text, withDefault } from "../options/options.ts";
import type { ExecutionEvent } from "./execute.ts";
import { LIMITS_OPTION } from "./limits.ts";

/** The sandbox checks whether it supports the language. */
export const LANGUAGE = option<Language>("the name of a language", (value) => typeof value === "string");
export const TENANT = text({ maxLength: 256, expected: "a name of 1 to 256 characters" });

export const EXECUTE_RULES = {
  /** Language of the program, JavaScript by default. Which ones there are depends on the sandbox. */
  language: withDefault(LANGUAGE, "javascript"),
  /** Changes to the limits of the runtime. */
  limits: LIMITS_OPTION,
  /** The tenant that the program runs for; the runtime's by default. */
  tenant: TENANT,
  /** Decides about calls that need approval, in place of the runtime's `approve`. */
  approve: callback<Approve>(),
  /** Called with each event as it happens. Errors that it throws are ignored. */
  onEvent: callback<(event: ExecutionEvent) => void>(),
  /** Cancels the execution. */
  signal: abortSignal(),
};

export type ExecuteOptions = OptionsOf<typeof EXECUTE_RULES>;
