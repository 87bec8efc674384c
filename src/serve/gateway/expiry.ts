/*
 * Ends what clients of the gateway have left. The open executions of the journal come in, from whatever lists them; those without a record for as
 * long as their clients were told to have are ended. Answers that are stored stay readable much longer.
 */
import { type ExecutionId, now } from "../../base/index.ts";
import { type PastConversation, readPastConversation } from "../../conversations/from-journal/index.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { readHeader, readList, readRecords } from "../../journal/reading/index.ts";
import { isDriven } from "../../executions/driven.ts";
import { isOthers } from "../driving/driving.ts";
import { isOfGateway, isStoredExecution } from "./carried/seals.ts";
import { giveUpCalls } from "./end-conversation.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { ServerRuns } from "../server-runs.ts";
import { RestingConversations } from "./resting.ts";
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
      this.#tell(error);
    }
    return false;
  }

  #tell(error: unknown): void {
    if (!isOthers(error)) this.#parts.onError(error);
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
