import PQueue from "p-queue";
import type { Tool } from "../tools/tool.ts";
import { type SearchSettings, ToolSearch } from "../tools/search/tool-search.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { HeldBytes } from "../values/held-bytes.ts";
import { GateSession, type SessionOptions, type SharedRules } from "./session.ts";

/** What the gate needs of a queue. The declarations of `p-queue` itself do not compile without the types of browsers. */
interface ToolQueue {
  add<Value>(run: () => Promise<Value>, options: { readonly signal: AbortSignal }): Promise<Value>;
}

/**
 * The only path to a handler. Calls are made in a session: of a program's execution, or of a model's conversation. The
 * gate holds what all sessions share: the tools, and their concurrency.
 */
export class Gate implements SharedRules {
  readonly tools: ToolSet;
  readonly search: ToolSearch;
  readonly held: HeldBytes;
  readonly #queues: WeakMap<Tool, ToolQueue>;

  constructor(
    tools: ToolSet,
    held = new HeldBytes(),
    search: SearchSettings = {},
    queues = new WeakMap<Tool, ToolQueue>(),
  ) {
    this.held = held;
    this.#queues = queues;
    this.tools = tools;
    this.search = new ToolSearch(tools, search);
    for (const tool of tools.all) {
      if (Number.isFinite(tool.concurrency) && !queues.has(tool))
        queues.set(tool, new PQueue({ concurrency: tool.concurrency }));
    }
  }

  /** A gate for other tools. It shares the queues: a tool of both gates has one concurrency limit. */
  beside(tools: ToolSet): Gate {
    return new Gate(tools, this.held, this.search.settings, this.#queues);
  }

  open(options: SessionOptions): GateSession {
    return new GateSession(this, options);
  }

  /** Runs a handler when its tool's concurrency allows one more call. Drops it, and rejects, if the signal is aborted first. */
  whenFree<Value>(tool: Tool, run: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    return this.#queues.get(tool)?.add(run, { signal }) ?? run();
  }
}
