/*
 * Ends what clients of the gateway have left. The open executions of the journal come in, from whatever lists them; those without a record for as
 * long as their clients were told to have are ended. Answers that are stored stay readable much longer.
 */
import { type ExecutionId, now, Counts, defaultHeldBytes, PortcullisError, UNIT_BYTES } from "../../base/index.ts";
import { type PastConversation, readPastConversation } from "../../conversations/from-journal/index.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { readHeader, readList, readRecords, findIfKnown } from "../../journal/reading/index.ts";
import { isDriven } from "../../executions/driven.ts";
import { isOthers } from "../driving/driving.ts";
import { isOfGateway, isStoredExecution } from "./carried/seals.ts";
import { giveUpCalls, endConversation } from "./end-conversation.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { ServerRuns } from "../server-runs.ts";
import { Turns } from "../turns.ts";

type Swept = Pick<ExecutionSummary, "execution" | "tenant" | "records">;

type Seen = Pick<ExecutionSummary, "execution" | "tenant">;

interface ExpiryParts {
  readonly runtime: Runtime;
  readonly runs: ServerRuns;
  readonly onError: (error: unknown) => void;
}

export class Expiry {
  readonly #parts: ExpiryParts;
  readonly turns = new Turns();
  readonly resting: RestingConversations;
  /** Open executions of which it is not looked yet whether they have expired. */
  #seen = new Map<ExecutionId, Seen>();
  /** When open executions expire at the earliest, in milliseconds since 1970: until then they are not read again. */
  #dueAt = new Map<ExecutionId, number>();
  #settling: Promise<unknown> = Promise.resolve();
  #isStopped = false;

  constructor(parts: ExpiryParts) {
    this.#parts = parts;
    this.resting = new RestingConversations(parts, this.turns);
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Notes an open execution of the journal. Those that the gateway has not begun are passed over. */
  see({ execution, tenant }: Seen): void {
    if (isOfGateway(execution)) this.#seen.set(execution, { execution, tenant });
  }

  /** Lists the open executions itself. Resolves as `settle`. Rejects if the journal cannot be listed. */
  async sweep(): Promise<number> {
    for await (const summary of readList(this.#parts.runtime.journal, { open: true })) {
      if (this.#isStopped) return 0;
      this.see(summary);
    }
    return this.settle();
  }

  /** Ends what has expired of the executions that were seen, all that are open. Resolves with the number of those. */
  settle(): Promise<number> {
    const settled = this.#settling.then(() => this.#settle(now()));
    this.#settling = settled;
    return settled;
  }

  async #settle(now: number): Promise<number> {
    const seen = this.#seen;
    const known = this.#dueAt;
    this.#seen = new Map();
    this.#dueAt = new Map();
    let ended = 0;
    for (const one of seen.values()) {
      if (this.#isStopped) return ended;
      const at = known.get(one.execution);
      if (at !== undefined && at > now) this.#dueAt.set(one.execution, at);
      else if (await this.#isEnded(one, now)) ended += 1;
    }
    return ended;
  }

  /** Whether an execution had expired, and was ended. Never rejects. */
  async #isEnded({ execution }: Seen, now: number): Promise<boolean> {
    const { journal } = this.#parts.runtime;
    try {
      const summary = await journal.find(execution);
      if (summary.ended || isDriven(journal, summary)) return false;
      const at = await this.#dueOf(summary);
      if (at <= now) return await this.#end(summary, now);
      this.#dueAt.set(execution, at);
    } catch (error) {
      if (!isOthers(error)) this.#parts.onError(error);
    }
    return false;
  }

  async #dueOf(summary: ExecutionSummary): Promise<number> {
    const { execution, tenant } = summary;
    const { journal } = this.#parts.runtime;
    const { waitMs = 0 } = (await readHeader(journal, execution, { tenant }))?.limits ?? {};
    return (await lastAt(journal, summary)) + waitMs;
  }

  /** Ends a conversation, once no request has it, unless its programs say that its client was there meanwhile. */
  async #end({ execution, tenant }: Seen, now: number): Promise<boolean> {
    const { runtime, runs } = this.#parts;
    const { journal } = runtime;
    if (this.turns.isTaken(execution)) return false;
    const release = await this.turns.take(execution);
    try {
      const summary = await journal.find(execution);
      if (summary.ended || isDriven(journal, summary) || runs.has(execution)) return false;
      const past = await readPastConversation(journal, execution, tenant);
      const programs = openPrograms(past, tenant);
      const own = await lastAt(journal, summary);
      const last = Math.max(own, ...(await Promise.all(programs.map((one) => lastAt(journal, one)))));
      const at = last + (past.header.limits.waitMs ?? 0);
      const isStored = isStoredExecution(execution);
      const { storedMs = Number.POSITIVE_INFINITY } = past.header.owner ?? {};
      const dueAt = isStored && programs.length === 0 ? own + storedMs : at;
      if (dueAt > now) {
        this.#dueAt.set(execution, dueAt);
        return false;
      }
      // Nothing goes on with a conversation whose journal was redacted.
      if (isStored && programs.length > 0 && !past.isRedacted) await giveUpCalls(runtime, past);
      else await this.resting.end(execution, tenant);
      return true;
    } finally {
      release();
    }
  }
}

function openPrograms({ open }: PastConversation, tenant: string): readonly Swept[] {
  return [...open.values()].flatMap(({ program }) => {
    const { header, records } = program?.state ?? {};
    return header && records !== undefined && !program?.outcome
      ? [{ execution: header.execution, tenant, records }]
      : [];
  });
}

/** When the last record of an execution was appended, in milliseconds since 1970. */
async function lastAt(journal: Journal, { execution, tenant, records }: Swept): Promise<number> {
  let at = 0;
  for await (const record of readRecords(journal, execution, { tenant, from: records - 1, count: 1 }))
    at = "at" in record ? record.at : "startedAt" in record ? record.startedAt : at;
  return at;
}

/** Bytes of a conversation beside its texts. */
const EACH_BYTES = 16 * 1024;
/** Bytes of memory that the conversations of all clients may take in a journal in memory. */
const MOST_BYTES = Math.min(32 * 1024 * 1024, defaultHeldBytes() / 8);

interface RestingParts {
  readonly runtime: Runtime;
  readonly onError: (error: unknown) => void;
}

/** The conversations that clients may go on with. In a journal in memory they take no more than their part of it. */
class RestingConversations {
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
