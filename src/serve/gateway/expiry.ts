/*
 * Ends what clients of the gateway have left. The open executions of the journal come in; those without a record for as
 * long as their clients were told to have are ended. Answers that are stored stay readable much longer.
 */
import { type PastConversation, readPastConversation } from "../../agent/from-journal/past-conversation.ts";
import type { ExecutionId } from "../../journal/execution-id.ts";
import type { ExecutionSummary, Head, Journal } from "../../journal/journal.ts";
import { readHeader, readList, readRecords } from "../../journal/reading/read-records.ts";
import { isDriven } from "../../programs/driven.ts";
import type { ApiParts } from "../api/parts.ts";
import { isOthers } from "../driving/local-driving.ts";
import { isOfGateway, isStoredExecution } from "./carried/seals.ts";
import { endConversation, giveUpCalls } from "./end-conversation.ts";
import type { Turns } from "./turns.ts";

/** How long answers are kept that their clients have asked to be stored, in milliseconds: as the provider keeps them. */
const STORED_MS = 30 * 24 * 60 * 60_000;

/** Interval of looking for what has expired, in milliseconds. */
const SWEEP_MS = 30_000;

type Swept = Pick<ExecutionSummary, "execution" | "tenant" | "records">;

/** When an execution may have expired, in milliseconds since 1970, if it still has this many records. */
interface Due {
  readonly records: Head;
  readonly at: number;
}

export class Expiry {
  readonly #parts: Pick<ApiParts, "runtime" | "runs" | "onError">;
  readonly #turns: Turns;
  /** What is known of open executions, so that no sweep reads them again. */
  #known = new Map<ExecutionId, Due>();
  #sweeping: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: Pick<ApiParts, "runtime" | "runs" | "onError">, turns: Turns) {
    this.#parts = parts;
    this.#turns = turns;
  }

  start(): void {
    const sweep = () => void this.sweep().catch((error: unknown) => this.#tell(error));
    sweep();
    this.#sweeping = setInterval(sweep, SWEEP_MS).unref();
  }

  stop(): void {
    clearInterval(this.#sweeping);
    this.#isStopped = true;
  }

  /** Resolves with the number of executions that it has ended. Rejects if the journal cannot be listed. */
  async sweep(now = Date.now()): Promise<number> {
    const { journal } = this.#parts.runtime;
    const known = new Map<ExecutionId, Due>();
    let ended = 0;
    for await (const summary of readList(journal, { open: true })) {
      if (this.#isStopped) return ended;
      if (!isOfGateway(summary.execution) || isDriven(journal, summary)) continue;
      try {
        const due = await this.#dueOf(summary);
        if (due.at > now) known.set(summary.execution, due);
        else if (await this.#end(summary, now, known)) ended += 1;
      } catch (error) {
        this.#tell(error);
      }
    }
    this.#known = known;
    return ended;
  }

  #tell(error: unknown): void {
    if (!isOthers(error)) this.#parts.onError(error);
  }

  async #dueOf(summary: ExecutionSummary): Promise<Due> {
    const { execution, records, tenant } = summary;
    const known = this.#known.get(execution);
    if (known?.records === records) return known;
    const { journal } = this.#parts.runtime;
    const { waitMs = 0 } = (await readHeader(journal, execution, { tenant }))?.limits ?? {};
    return { records, at: (await lastAt(journal, summary)) + waitMs };
  }

  /** Ends a conversation, once no request has it, unless its programs say that its client was there meanwhile. */
  async #end({ execution, tenant }: Swept, now: number, known: Map<ExecutionId, Due>): Promise<boolean> {
    const { runtime, runs } = this.#parts;
    const { journal } = runtime;
    const release = await this.#turns.take(execution);
    try {
      const summary = await journal.find(execution);
      if (summary.ended || isDriven(journal, summary) || runs.has(execution)) return false;
      const past = await readPastConversation(journal, execution, tenant);
      const programs = openPrograms(past, tenant);
      const own = await lastAt(journal, summary);
      const last = Math.max(own, ...(await Promise.all(programs.map((one) => lastAt(journal, one)))));
      const at = last + (past.header.limits.waitMs ?? 0);
      const ending = { execution, tenant, model: past.answering.model, hasOpenCalls: past.open.size > 0 };
      const isStored = isStoredExecution(execution);
      const stored = { records: summary.records, at: isStored && programs.length === 0 ? own + STORED_MS : at };
      if (stored.at > now) {
        known.set(execution, stored);
        return false;
      }
      if (isStored && programs.length > 0) await giveUpCalls(this.#parts, ending);
      else await endConversation(this.#parts, ending);
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
