import { callback, type OptionsOf } from "../options/options.ts";
import type { WithContext } from "../programs/execute-options.ts";
import { RESUME_RULES } from "../programs/resume-options.ts";
import { MODEL } from "./agent-options.ts";
import type { AgentEvent } from "./event.ts";

export const RESUME_AGENT_RULES = {
  ...RESUME_RULES,
  /** The model that the conversation began with. */
  model: MODEL,
  /** Called with each event as it happens. Errors that it throws are ignored. */
  onEvent: callback<(event: AgentEvent) => void>(),
};

export type ResumeAgentOptions<Context = unknown> = WithContext<OptionsOf<typeof RESUME_AGENT_RULES>, Context>;
