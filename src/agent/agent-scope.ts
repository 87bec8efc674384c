import type { Scope } from "../programs/scope.ts";
import type { SwitchFailure } from "../tools/tool-set.ts";
import type { AgentEvent } from "./event.ts";

interface ScopeParts extends Omit<Scope, "onEvent"> {
  readonly onEvent: (event: AgentEvent) => void;
  /** For the operator: a tool whose `enabled` gave no answer. */
  readonly onSwitchFailed: (failed: SwitchFailure) => void;
}

/**
 * A scope that conversations can take place in. It is a class so that an agent that is a tool can recognise the scope
 * of its caller, which the gate hands on without knowing it.
 */
export class AgentScope implements Scope {
  readonly sandbox: Scope["sandbox"];
  readonly gate: Scope["gate"];
  readonly journal: Scope["journal"];
  readonly leaseMs: number;
  readonly language: Scope["language"];
  readonly limits: Scope["limits"];
  readonly approvePrograms: Scope["approvePrograms"];
  readonly tenant: string;
  readonly context: unknown;
  readonly approve: Scope["approve"];
  readonly redactor: Scope["redactor"];
  readonly telemetry: Scope["telemetry"];
  readonly signal: AbortSignal;
  readonly onEvent: (event: AgentEvent) => void;
  readonly onSwitchFailed: ScopeParts["onSwitchFailed"];
  readonly artifacts: Scope["artifacts"];
  readonly above: Scope["above"];
  readonly #parts: ScopeParts;

  constructor(parts: ScopeParts) {
    this.sandbox = parts.sandbox;
    this.gate = parts.gate;
    this.journal = parts.journal;
    this.leaseMs = parts.leaseMs;
    this.language = parts.language;
    this.limits = parts.limits;
    this.approvePrograms = parts.approvePrograms;
    this.tenant = parts.tenant;
    this.context = parts.context;
    this.approve = parts.approve;
    this.redactor = parts.redactor;
    this.telemetry = parts.telemetry;
    this.signal = parts.signal;
    this.onEvent = parts.onEvent;
    this.onSwitchFailed = parts.onSwitchFailed;
    this.artifacts = parts.artifacts;
    this.above = parts.above;
    this.#parts = parts;
  }

  with(changes: Partial<ScopeParts>): AgentScope {
    return new AgentScope({ ...this.#parts, ...changes });
  }
}
