/*
 * Ends what clients of the gateway have left. The open executions of the journal come in, from whatever lists them; those without a record for as
 * long as their clients were told to have are ended. Answers that are stored stay readable much longer.
 */
import { randomUUID } from "node:crypto";
import { Counts, defaultHeldBytes, type ExecutionId, now, PortcullisError, UNIT_BYTES } from "../../base/index.ts";
import { cancelPrograms, type PastConversation, readPastConversation } from "../../conversations/from-journal/index.ts";
import { ConversationLog } from "../../conversations/index.ts";
import { drivenHere, isDriven, refuseDriven } from "../../executions/driven.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { findIfKnown, readHeader, readList, readRecords } from "../../journal/reading/index.ts";
import type { Model } from "../../models/model.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import { isOthers } from "../driving/driving.ts";
import type { ServerRuns } from "../server-runs.ts";
import { Turns } from "../turns.ts";
import { isOfGateway, isStoredExecution } from "./carried/seals.ts";

type Swept = Pick<ExecutionSummary, "execution" | "tenant" | "records">;

type Seen = Pick<ExecutionSummary, "execution" | "tenant">;

interface ExpiryParts {
  readonly runtime: Runtime;
  readonly runs: ServerRuns;
  readonly onError: (error: unknown) => void;
}

/** Bytes of a conversation beside its texts. */
const EACH_BYTES = 16 * 1024;
/** Bytes of memory that the conversations of all clients may take in a journal in memory. */
const MOST_BYTES = Math.min(32 * 1024 * 1024, defaultHeldBytes() / 8);
/** How long an execution is claimed to be ended, in milliseconds. */
const LEASE_MS = 15_000;

export class Expiry {
  readonly #parts: ExpiryParts;
  readonly turns = new Turns();
  /** Open executions of which it is not looked yet whether they have expired. */
  #seen = new Map<ExecutionId, Seen>();
  /** When open executions expire at the earliest, in milliseconds since 1970: until then they are not read again. */
  #dueAt = new Map<ExecutionId, number>();
  #settling: Promise<unknown> = Promise.resolve();
  #isStopped = false;
  /** In a journal in memory: the conversations that clients may go on with, that which was used last at the end. */
  readonly #resting = new Map<ExecutionId, { readonly tenant: string; readonly bytes: number }>();
  readonly #bytes = new Counts();
  #isEnding = false;
  #hasTold = false;

  constructor(parts: ExpiryParts) {
    this.#parts = parts;
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
      else if (await this.#ifLeft(one, (summary) => this.#expire(summary, now))) ended += 1;
    }
    return ended;
  }

  /** Works on an execution that no request has and nothing drives. False if there is none, and if the work fails. */
  async #ifLeft({ execution }: Seen, work: (summary: ExecutionSummary) => Promise<boolean>): Promise<boolean> {
    const { runtime, runs, onError } = this.#parts;
    if (this.turns.isTaken(execution)) return false;
    const release = await this.turns.take(execution);
    try {
      const summary = await findIfKnown(runtime.journal, execution);
      if (!summary || summary.ended) this.#forget(execution);
      else if (!isDriven(runtime.journal, summary) && !runs.has(execution)) return await work(summary);
    } catch (error) {
      if (!isOthers(error)) onError(error);
    } finally {
      release();
    }
    return false;
  }

  /** Ends a conversation, unless its programs say that its client was there meanwhile. */
  async #expire(summary: ExecutionSummary, now: number): Promise<boolean> {
    const { runtime } = this.#parts;
    const { journal } = runtime;
    const { execution, tenant } = summary;
    const { limits, owner } = (await readHeader(journal, execution, { tenant })) ?? {};
    const waitMs = limits?.waitMs ?? 0;
    const own = await lastAt(journal, summary);
    let dueAt = own + waitMs;
    if (dueAt <= now) {
      const past = await readPastConversation(journal, execution, tenant);
      const programs = openPrograms(past, tenant);
      const last = Math.max(own, ...(await Promise.all(programs.map((one) => lastAt(journal, one)))));
      const isStored = isStoredExecution(execution);
      const { storedMs = Number.POSITIVE_INFINITY } = owner ?? {};
      dueAt = isStored && programs.length === 0 ? own + storedMs : last + waitMs;
      if (dueAt <= now) {
        // Nothing goes on with a conversation whose journal was redacted.
        if (isStored && programs.length > 0 && !past.isRedacted) await giveUpCalls(runtime, past);
        else await this.end(execution, tenant);
        return true;
      }
    }
    this.#dueAt.set(execution, dueAt);
    return false;
  }

  /** Notes that a request has used a conversation, as far as it has begun. Never rejects. */
  async note(execution: ExecutionId, tenant: string): Promise<void> {
    const { runtime, onError } = this.#parts;
    if (runtime.journal.isDurable) return;
    try {
      const found = await findIfKnown(runtime.journal, execution);
      this.#forget(execution);
      if (!found || found.ended) return;
      const bytes = EACH_BYTES + UNIT_BYTES * (found.heldLength ?? 0);
      this.#resting.set(execution, { tenant, bytes });
      this.#bytes.add(tenant, bytes);
    } catch (error) {
      onError(error);
    }
    await this.#makeRoom();
  }

  /** Ends a conversation that nothing drives, with its programs. Rejects with `execution_driven`, and as the journal does. */
  async end(execution: ExecutionId, tenant: string): Promise<void> {
    const { journal } = this.#parts.runtime;
    const past = await readPastConversation(journal, execution, tenant);
    if (!past.outcome) {
      await refuseDriven(journal, execution);
      const outcome = past.rest?.ending ?? JSON.stringify({ type: "cancelled" });
      const driver = { driver: randomUUID(), leaseMs: LEASE_MS };
      const log = await ConversationLog.claim(journal, past.state, driver, [{ type: "outcome", outcome, at: now() }]);
      await log.end(true);
      await cancelPrograms({ journal, leaseMs: LEASE_MS }, past);
    }
    this.#forget(execution);
  }

  #forget(execution: ExecutionId): void {
    const known = this.#resting.get(execution);
    if (known) this.#bytes.add(known.tenant, -known.bytes);
    this.#resting.delete(execution);
  }

  /** Ends the oldest conversation of the tenant whose conversations take most, until all have room. Never rejects. */
  async #makeRoom(): Promise<void> {
    if (this.#isEnding) return;
    this.#isEnding = true;
    const passed = new Set<ExecutionId>();
    while (this.#bytes.all > MOST_BYTES) {
      const [tenant] = [...this.#bytes.byKey].reduce((one, other) => (other[1] > one[1] ? other : one));
      const own = [...this.#resting].flatMap(([id, one]) => (one.tenant === tenant ? [id] : []));
      // The one that was just used is for its client to go on with, however large it is.
      const execution = own.slice(0, -1).find((id) => !passed.has(id));
      if (execution === undefined) break;
      passed.add(execution);
      const isEnded = await this.#ifLeft({ execution, tenant }, () => this.end(execution, tenant).then(() => true));
      if (isEnded && !this.#hasTold) this.#parts.onError(FULL);
      this.#hasTold ||= isEnded;
    }
    this.#isEnding = false;
  }
}

const FULL = new PortcullisError(
  "conversation_ended",
  `The conversations of the vendors' paths take more than ${MOST_BYTES} bytes of memory, so the oldest are ended before their time from now on. Keep a journal in a file (--journal) to keep them.`,
);

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

/** Ends the programs of a conversation that nothing drives, and gives its open calls up. It rests then. */
async function giveUpCalls(runtime: Runtime, past: PastConversation): Promise<void> {
  const { journal } = runtime;
  const { execution, tenant } = past.header;
  if (drivenHere(journal, execution)) return;
  // Of a conversation that is taken up to be ended, programs are not taken up.
  await cancelPrograms({ journal, leaseMs: LEASE_MS }, past);
  const signal = AbortSignal.abort(new Error("Its client does not continue it."));
  const options = { model: silent(past.answering.model), allowChangedTools: true };
  await runtime.execution(execution, { tenant }).resume({ ...options, signal, approve: () => "later" });
}

/** Stands for the model of a conversation that is only to be ended. */
export function silent(name: string): Model {
  const nothing = () => {};
  const turn = async () => ({ type: "aborted" as const });
  const conversation = { say: nothing, answer: nothing, restore: nothing, turn };
  return { name, hostsPrograms: false, converse: async () => conversation };
}
