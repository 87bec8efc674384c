import type { EventFields } from "../gate/call-event.ts";
import type { WorkScope } from "../gate/work-scope.ts";
import type { Model } from "../models/model.ts";
import type { Scope } from "../executions/scope.ts";
import type { ToolFailure } from "../tools/tool-set.ts";
import type { AgentEvent } from "./event.ts";

export interface AgentScope extends Omit<Scope, "onEvent"> {
  readonly onEvent: (event: EventFields<AgentEvent>) => void;
  /** For the operator: a tool whose `enabled` gave no answer. */
  readonly onSwitchFailed: (failed: ToolFailure) => void;
  /** The model that answers now in the conversation that makes the calls; undefined outside of a conversation. */
  readonly answering?: (() => Model) | undefined;
}

/** Whether an agent that is a tool can work in the scope of its caller, which the gate hands on without knowing it. */
export function isAgentScope(scope: WorkScope): scope is AgentScope {
  return "onSwitchFailed" in scope;
}
