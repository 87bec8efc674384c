import type { Language } from "../../bridge/frames.ts";
import { abortSignal, option, type OptionsOf, text, withDefault } from "../options/options.ts";
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
  /** Cancels the execution. */
  signal: abortSignal(),
};

export type ExecuteOptions = OptionsOf<typeof EXECUTE_RULES>;
