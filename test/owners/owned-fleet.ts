import { z } from "zod";
import { createFleet, createOwner, type Owner, type OwnerOptions } from "../../src/fleet/index.ts";
import { createRuntime, defineTool, type Runtime, type RuntimeOptions } from "../../src/index.ts";
import { createMemoryJournal } from "../../src/journal/index.ts";
import type { CallContext } from "../../src/tools/tool.ts";
import { workerKeyOf } from "../../src/owners/worker-key.ts";
import { createMemorySandbox } from "../../src/testing.ts";
import { MemoryQueue } from "../fleet/memory-queue.ts";

export const SECRET = "a-secret-of-24-characters-or-more";
const common = { description: "d", input: z.object({ n: z.number() }), allowedCallers: ["programmatic"] } as const;

export interface Made {
  readonly name: string;
  readonly input: unknown;
  readonly context: CallContext;
}

/** Tools that note each call, and do with it what a test wants. */
export function ownersTools(made: Made[], act: (call: Made) => unknown = ({ input }) => input) {
  const note = (name: string) => (input: unknown, context: CallContext) => {
    const call = { name, input, context };
    made.push(call);
    return act(call);
  };
  return [
    defineTool({ ...common, name: "crm.get", effect: "read", handler: note("crm.get") }),
    defineTool({ ...common, name: "crm.put", effect: "write", handler: note("crm.put") }),
    defineTool({ ...common, name: "crm.keep", effect: "idempotent", handler: note("crm.keep") }),
    defineTool({ ...common, name: "pay", effect: "write", approval: ({ n }) => n > 100, handler: note("pay") }),
    defineTool({ ...common, name: "ask", effect: "read", handler: "client" }),
    defineTool({
      ...common,
      name: "even",
      effect: "read",
      input: z.object({ n: z.number().refine((n) => n % 2 === 0, "must be even") }),
      output: z.number().max(10),
      handler: ({ n }) => n * 2,
    }),
  ];
}

export function openOwner(options: Partial<OwnerOptions> & Pick<OwnerOptions, "tools">): Promise<Owner> {
  return createOwner({ key: SECRET, onError: () => {}, ...options });
}

/** A fleet in this process: one part that submits, and workers without tools of their own. */
export class OwnedFleet implements AsyncDisposable {
  readonly journal = createMemoryJournal();
  readonly errors: Error[] = [];
  readonly #queue = new MemoryQueue();
  readonly #stack = new AsyncDisposableStack();

  async runtime(options: Partial<RuntimeOptions> = {}): Promise<Runtime> {
    return this.#stack.use(
      await createRuntime({
        tools: [],
        sandbox: createMemorySandbox(),
        approve: () => "later",
        leaseMs: 500,
        logger: { error: () => {} },
        fleet: createFleet({ journal: this.journal, queue: this.#queue }),
        ownerMs: 1000,
        ...options,
      }),
    );
  }

  /** A worker that may call these owners. */
  async worker(owners: readonly string[], options: Partial<RuntimeOptions> = {}) {
    return this.workerOf({ owners: owners.map((url) => ({ url, workerKey: workerKeyOf(SECRET) })), ...options });
  }

  async workerOf(options: Partial<RuntimeOptions>) {
    const runtime = await this.runtime(options);
    return this.#stack.use(
      await runtime.work({ reconcileMs: 100, onError: (error) => void this.errors.push(error as Error) }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}
