import type { SendOptions } from "../../conversations/agent-options.ts";
import type { AgentEvent } from "../../conversations/event.ts";
import type { ModelSettings } from "../../models/model.ts";
import { type SurfaceRequest, orRefused } from "./surface/surface.ts";
import { storedSchema } from "../../tools/schema.ts";
import type { ClientTools } from "./client-tools.ts";
import type { Exchange } from "./gateway-parts.ts";

/** The client decides when its conversation ends: these are bounds of the engine alone. */
const MAX_TURNS = 10_000;
const UNBOUNDED = Number.MAX_SAFE_INTEGER;

/** How a conversation of the gateway is held. */
export function optionsFor(
  { asked, tools, model, pauseMs, served: { offer: most } }: Exchange,
  onEvent: (event: AgentEvent) => void = () => {},
): SendOptions<unknown, unknown> {
  const { instructions, programs } = asked;
  const { answer, ...settings } = requestSettings(asked, tools);
  const seen = { turns: 0, tokens: 0 };
  return {
    model,
    tools: tools.all,
    programs: programs ? "local" : "none",
    instructions,
    settings,
    answer: answer && orRefused("format.schema", () => storedSchema(answer)),
    limits: { waitMs: pauseMs },
    loop: {
      maxTurns: MAX_TURNS,
      maxTokens: UNBOUNDED,
      contextTokens: UNBOUNDED,
      wrapUp: false,
      notices: false,
      stopWhen: () => seen.turns >= most.maxTurns || seen.tokens >= most.maxTokens,
    },
    allowChangedTools: true,
    onEvent: (event) => {
      if (event.type === "turn_ended") {
        seen.turns += 1;
        seen.tokens += event.usage.inputTokens + event.usage.outputTokens;
      }
      onEvent(event);
    },
  };
}

/** The settings of a request, with the names that its tools have in the conversation. */
export function requestSettings({ settings }: SurfaceRequest, tools: ClientTools): ModelSettings {
  const { toolChoice } = settings;
  if (typeof toolChoice !== "object") return settings;
  return { ...settings, toolChoice: { tool: tools.own(toolChoice.tool) } };
}
