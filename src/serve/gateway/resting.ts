import { PortcullisError } from "../../errors.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import { isDriven } from "../../programs/driven.ts";
import { Counts } from "../../places/counts.ts";
import { defaultHeldBytes } from "../../values/held-bytes.ts";
import { endConversation } from "./end-conversation.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import type { Turns } from "./turns.ts";

/** A text takes as many bytes of memory for each of its own, in the journal and as it is read. */
const MEMORY_OF_BYTE = 2;
/** Bytes of a conversation beside its texts. */
const EACH_BYTES = 16 * 1024;
/** Bytes of memory that the conversations of all clients may take in a journal in memory. */
const MOST_BYTES = Math.min(64 * 1024 * 1024, defaultHeldBytes() / 8);

/** The conversations that clients may go on with. In a journal in memory they take no more than their part of it. */
export class RestingConversations {
  readonly #parts: Pick<GatewayParts, "runtime" | "onError">;
  readonly #turns: Turns;
  /** Bytes of each conversation of a tenant, that which was used last at the end. */
  readonly #byTenant = new Map<string, Map<ExecutionId, number>>();
  readonly #bytes = new Counts();
  #isEnding = false;
  #hasTold = false;

  constructor(parts: Pick<GatewayParts, "runtime" | "onError">, turns: Turns) {
    this.#parts = parts;
    this.#turns = turns;
  }

  /** Notes that a request of so many bytes uses a conversation, and that it follows the texts of another one, or its own. */
  note(execution: ExecutionId, tenant: string, requestBytes: number, follows: ExecutionId | undefined): void {
    if (this.#parts.runtime.journal.isDurable) return;
    const own = this.#byTenant.get(tenant) ?? new Map<ExecutionId, number>();
    this.#byTenant.set(tenant, own);
    const before = own.get(execution) ?? 0;
    const taken = EACH_BYTES + MEMORY_OF_BYTE * requestBytes;
    const bytes = follows === undefined ? Math.max(before, taken) : (own.get(follows) ?? 0) + taken;
    own.delete(execution);
    own.set(execution, bytes);
    this.#bytes.add(tenant, bytes - before);
    void this.#makeRoom();
  }

  /** Ends a conversation that nothing drives. Rejects as `endConversation` does. */
  async end(execution: ExecutionId, tenant: string): Promise<void> {
    await endConversation(this.#parts.runtime.journal, execution, tenant);
    const own = this.#byTenant.get(tenant);
    this.#bytes.add(tenant, -(own?.get(execution) ?? 0));
    own?.delete(execution);
    if (own?.size === 0) this.#byTenant.delete(tenant);
  }

  /** Ends the oldest conversation of the tenant whose conversations take most, until all have room. Never rejects. */
  async #makeRoom(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const passed = new Set<ExecutionId>();
    while (this.#bytes.all > MOST_BYTES) {
      const [tenant] = [...this.#bytes.byKey].reduce((one, other) => (other[1] > one[1] ? other : one));
      const oldest = this.#byTenant
        .get(tenant)
        ?.keys()
        .find((execution) => !passed.has(execution));
      if (oldest === undefined) break;
      passed.add(oldest);
      await this.#endIfLeft(oldest, tenant);
    }
    this.#isEnding = false;
  }

  async #endIfLeft(execution: ExecutionId, tenant: string): Promise<void> {
    const { runtime, onError } = this.#parts;
    if (this.#turns.isTaken(execution)) return;
    const release = await this.#turns.take(execution);
    try {
      if (isDriven(runtime.journal, await runtime.journal.find(execution))) return;
      await this.end(execution, tenant);
      if (!this.#hasTold) onError(FULL);
      this.#hasTold = true;
    } catch (error) {
      onError(error);
    } finally {
      release();
    }
  }
}

const FULL = new PortcullisError(
  "conversation_ended",
  `The conversations of the vendors' paths take more than ${MOST_BYTES} bytes of memory, so the oldest are ended before their time from now on. Keep a journal in a file (--journal) to keep them.`,
);
