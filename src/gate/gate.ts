import PQueue from "p-queue";
import { PortcullisError } from "../errors.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { Approve } from "./approval.ts";
import { HeldBytes } from "../values/held-bytes.ts";
import { GateSession, type SessionOptions, type SharedRules } from "./session.ts";

/** What the gate needs of a queue. The declarations of `p-queue` itself do not compile without the types of browsers. */
interface ToolQueue {
  add<Value>(run: () => Promise<Value>, options: { readonly signal: AbortSignal }): Promise<Value>;
}

/**
 * The only path to a handler. Calls are made in a session: of a program's execution, or of a model's conversation. The
 * gate holds what all sessions share: the tools, their concurrency, and approval.
 */
export class Gate implements SharedRules {
  readonly tools: ToolSet;
  readonly approve: Approve | undefined;
  readonly held: HeldBytes;
  readonly #queues: WeakMap<Tool, ToolQueue>;

  /** Throws `option_invalid` if a tool may need approval and there is no `approve`. */
  constructor(
    tools: ToolSet,
    approve: Approve | undefined,
    held = new HeldBytes(),
    queues = new WeakMap<Tool, ToolQueue>(),
  ) {
    this.held = held;
    this.#queues = queues;
    this.tools = tools;
    this.approve = approve;
    for (const tool of tools.all) {
      if (tool.approvable && !approve)
        throw new PortcullisError(
          "option_invalid",
          `Tool "${tool.name}" may need approval, but the runtime has no \`approve\`: pass one to createRuntime, or define the tool with approval: "never".`,
        );
      if (Number.isFinite(tool.concurrency) && !queues.has(tool))
        queues.set(tool, new PQueue({ concurrency: tool.concurrency }));
    }
  }

  /** A gate for other tools. It shares the queues: a tool of both gates has one concurrency limit. */
  beside(tools: ToolSet, approve: Approve | undefined): Gate {
    return new Gate(tools, approve, this.held, this.#queues);
  }

  open(options: SessionOptions): GateSession {
    return new GateSession(this, options);
  }

  /** Runs a handler when its tool's concurrency allows one more call. Drops it, and rejects, if the signal is aborted first. */
  whenFree<Value>(tool: Tool, run: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    return this.#queues.get(tool)?.add(run, { signal }) ?? run();
  }
}
