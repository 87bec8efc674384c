import { Counts, defaultHeldBytes, type ExecutionId, PortcullisError, UNIT_BYTES } from "../../base/index.ts";
import { findIfKnown } from "../../journal/reading/index.ts";
import { isDriven } from "../../executions/driven.ts";
import { endConversation } from "./end-conversation.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { Turns } from "../turns.ts";

/** Bytes of a conversation beside its texts. */
const EACH_BYTES = 16 * 1024;
/** Bytes of memory that the conversations of all clients may take in a journal in memory. */
const MOST_BYTES = Math.min(32 * 1024 * 1024, defaultHeldBytes() / 8);

interface RestingParts {
  readonly runtime: Runtime;
  readonly onError: (error: unknown) => void;
}

/** The conversations that clients may go on with. In a journal in memory they take no more than their part of it. */
export class RestingConversations {
  readonly #parts: RestingParts;
  readonly #turns: Turns;
  /** Bytes of each conversation of a tenant, that which was used last at the end. */
  readonly #byTenant = new Map<string, Map<ExecutionId, number>>();
  readonly #bytes = new Counts();
  #isEnding = false;
  #hasTold = false;

  constructor(parts: RestingParts, turns: Turns) {
    this.#parts = parts;
    this.#turns = turns;
  }

  /** Notes that a request has used a conversation, as far as it has begun. Never rejects. */
  async note(execution: ExecutionId, tenant: string): Promise<void> {
    const { runtime, onError } = this.#parts;
    if (runtime.journal.isDurable) return;
    try {
      const found = await findIfKnown(runtime.journal, execution);
      this.#forget(execution, tenant);
      if (!found || found.ended) return;
      const own = this.#byTenant.get(tenant) ?? new Map<ExecutionId, number>();
      const bytes = EACH_BYTES + UNIT_BYTES * (found.heldLength ?? 0);
      this.#byTenant.set(tenant, own.set(execution, bytes));
      this.#bytes.add(tenant, bytes);
    } catch (error) {
      onError(error);
    }
    await this.#makeRoom();
  }

  /** Ends a conversation that nothing drives. Rejects as `endConversation` does. */
  async end(execution: ExecutionId, tenant: string): Promise<void> {
    await endConversation(this.#parts.runtime.journal, execution, tenant);
    this.#forget(execution, tenant);
  }

  #forget(execution: ExecutionId, tenant: string): void {
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
      const own = this.#byTenant.get(tenant);
      // The one that was just used is for its client to go on with, however large it is.
      const oldest = own && own.size > 1 ? own.keys().find((execution) => !passed.has(execution)) : undefined;
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
      const found = await findIfKnown(runtime.journal, execution);
      if (!found || found.ended) return this.#forget(execution, tenant);
      if (isDriven(runtime.journal, found)) return;
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
