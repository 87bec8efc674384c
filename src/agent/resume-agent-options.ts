import { callback, type OptionsOf } from "../options/options.ts";
import type { Schema } from "../tools/schema.ts";
import type { WithContext } from "../programs/execute-options.ts";
import { RESUME_RULES } from "../programs/resume-options.ts";
import { ANSWER, MODEL, RUN_RULES } from "./agent-options.ts";
import type { AgentEvent } from "./event.ts";

export const RESUME_AGENT_RULES = {
  ...RESUME_RULES,
  /** The model that the conversation began with. */
  model: MODEL,
  /** Schema of the answer, the one that the conversation began with; by default the journal's, which changes no value. */
  answer: ANSWER,
  ...RUN_RULES,
  /** Called with each event as it happens. Errors that it throws are ignored. */
  onEvent: callback<(event: AgentEvent) => void>(),
};

export type ResumeAgentOptions<Context = unknown, Answer = string> = Omit<
  WithContext<OptionsOf<typeof RESUME_AGENT_RULES>, Context>,
  "answer"
> & {
  /** Schema of the answer, the one that the conversation began with; by default the journal's, which changes no value. */
  readonly answer?: Schema<unknown, Answer>;
};
