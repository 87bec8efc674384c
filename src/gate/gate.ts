import { type SearchSettings, ToolSearch } from "../tools/search/tool-search.ts";
import type { ToolAudience } from "../tools/tool.ts";
import type { ToolFailure, ToolSet } from "../tools/tool-set.ts";
import { type HeldBytes, heldWithin } from "../base/index.ts";
import { GateSession, type SessionOptions, type SharedRules } from "./session.ts";
import { queuesOfTools, type ToolQueues } from "./queues/tool-queues.ts";

/**
 * The only path to a handler. Calls are made in a session: of a program's execution, or of a model's conversation. The
 * gate holds what all sessions share: the tools, and their queues.
 */
export class Gate implements SharedRules {
  readonly tools: ToolSet;
  readonly search: ToolSearch;
  readonly held: HeldBytes;
  readonly toolQueues: ToolQueues;
  /** Gates for parts of the tools or for later sets, kept because each has a search index. */
  readonly #others = new WeakMap<ToolSet, Gate>();

  constructor(tools: ToolSet, held = heldWithin(), search: SearchSettings = {}, toolQueues = queuesOfTools()) {
    this.held = held;
    this.toolQueues = toolQueues;
    this.tools = tools;
    this.search = new ToolSearch(tools, search);
    for (const tool of tools.all) toolQueues.add(tool);
  }

  /** A gate for other tools. It shares the queues: a tool of both gates has one concurrency and one rate. */
  withTools(tools: ToolSet): Gate {
    return new Gate(tools, this.held, this.search.settings, this.toolQueues);
  }

  /**
   * A gate for the tools that exist for an audience: this gate, if all do. `onFailed` is told of a tool whose `enabled`
   * fails.
   */
  for(audience: ToolAudience, onFailed: (failed: ToolFailure) => void): Gate {
    return this.of(this.tools.enabledFor(audience, onFailed));
  }

  /** A gate for other tools: the same gate for the same set. */
  of(tools: ToolSet): Gate {
    if (tools === this.tools) return this;
    const gate = this.#others.get(tools) ?? this.withTools(tools);
    this.#others.set(tools, gate);
    return gate;
  }

  open(options: SessionOptions): GateSession {
    return new GateSession(this, options);
  }
}
