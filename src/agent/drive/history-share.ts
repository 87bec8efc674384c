import { PortcullisError } from "../../errors.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import { byteText } from "../../output/byte-text.ts";
import { Counts } from "../../places/counts.ts";
import type { HeldBytes, Share } from "../../values/held-bytes.ts";
import type { AgentScope } from "../agent-scope.ts";

/** Memory of the histories of each runtime, by tenant. */
const histories = new WeakMap<HeldBytes, Counts>();

/**
 * What the history of a conversation holds in memory while a driver has it, or is about to. Its holder ends it. All histories of
 * a tenant hold as much as they leave to others: a model may take its time.
 */
export class HistoryShare {
  readonly #share: Share;
  readonly #held: HeldBytes;
  readonly #tenant: string;
  readonly #byTenant: Counts;
  #bytes = 0;
  #isOver = false;

  constructor({ gate: { held }, tenant }: Pick<AgentScope, "gate" | "tenant">) {
    this.#held = held;
    this.#tenant = tenant;
    this.#share = held.share(tenant, Number.POSITIVE_INFINITY);
    this.#byTenant = histories.get(held) ?? new Counts();
    histories.set(held, this.#byTenant);
  }

  /** Throws `busy` if there is no room for more of a conversation's history. */
  hold(execution: ExecutionId, bytes: number): void {
    const { free } = this.#held;
    if (this.#byTenant.of(this.#tenant) + bytes > free)
      throw new PortcullisError(
        "busy",
        `The history of the conversation ${JSON.stringify(execution)} needs ${byteText(this.#bytes + bytes)} of memory or more, and ${byteText(Math.max(0, free))} are free for all conversations of its tenant (createRuntime({ heldBytes })). Nothing was said, and it stays as it was: try again later, or begin a new conversation.`,
      );
    this.count(bytes);
  }

  /** Adds bytes that are held already. */
  count(bytes: number): void {
    if (this.#isOver) return;
    this.#bytes += bytes;
    this.#share.count(bytes);
    this.#byTenant.add(this.#tenant, bytes);
  }

  end(): void {
    this.count(-this.#bytes);
    this.#isOver = true;
    this.#share.end();
  }
}

/** Runs work with a share that ends with it. */
export async function withHistory<Value>(
  scope: Pick<AgentScope, "gate" | "tenant">,
  work: (history: HistoryShare) => Promise<Value>,
): Promise<Value> {
  const history = new HistoryShare(scope);
  try {
    return await work(history);
  } finally {
    history.end();
  }
}
