import { standingOfConversation } from "../../conversations/from-journal/conversation-standing.ts";
import { readStandingConversation } from "../../conversations/from-journal/past-conversation.ts";
import type { ExecutionId } from "../../base/index.ts";
import type { ExecutionSummary } from "../../journal/journal.ts";
import { NO_ITEMS, readRecords } from "../../journal/reading/read-records.ts";
import { findOwn, headerOf, PastFold } from "../../executions/from-journal/past-execution.ts";
import type { Scope } from "../../executions/scope.ts";
import { standingOf } from "../../executions/from-journal/standing.ts";
import { type ExecutionFacts, programFacts, readFacts } from "./read-facts.ts";

/**
 * Reads one execution of a tenant again and again, until it ends or waits. Of a program, each reading goes on where the last
 * one ended. A conversation is read with its open programs, because what it waits for may stand in their journals, and with
 * all of them once it goes on no more.
 */
export class RestReader {
  readonly #scope: Scope;
  readonly #execution: ExecutionId;
  #summary: ExecutionSummary | undefined;
  /** Whether only the header of a program was there when it was found. It is not read for that. */
  #isFresh = false;
  #fold = new PastFold();

  constructor(scope: Scope, execution: ExecutionId) {
    this.#scope = scope;
    this.#execution = execution;
  }

  /** Number of records that were read and will not be read again. */
  get records(): number {
    return this.#isFresh ? 1 : this.#fold.state.records;
  }

  /**
   * The facts of an execution that goes on no more by itself; undefined for one that does. Rejects with `execution_unknown`,
   * also for another tenant's, and as the journal does.
   */
  async read(): Promise<ExecutionFacts | undefined> {
    const isFirst = this.#summary === undefined;
    const { kind, records } = (this.#summary ??= await findOwn(this.#scope, this.#execution));
    this.#isFresh = isFirst && kind === "program" && records === 1;
    // A program goes on by itself until it has called something.
    if (this.#isFresh) return undefined;
    if (kind === "conversation" && (await this.#goesOn())) return undefined;
    const facts = kind === "program" ? await this.#readProgram() : await readFacts(this.#scope, this.#execution);
    return facts?.listed.state === "running" ? undefined : facts;
  }

  /** All facts of a conversation take the journals of all its programs. */
  async #goesOn(): Promise<boolean> {
    const { journal, tenant } = this.#scope;
    const past = await readStandingConversation(journal, this.#execution, tenant);
    return standingOfConversation(past).state === "running";
  }

  async #readProgram(): Promise<ExecutionFacts | undefined> {
    const { journal, tenant } = this.#scope;
    const fold = this.#fold;
    const from = fold.state.records;
    const records = readRecords(journal, this.#execution, { tenant, from, ...NO_ITEMS });
    await records.each((record) => fold.take(record));
    if (fold.state.records === from) await this.#forgetIfAnother();
    // Whether a driver has it can only make what waits go on.
    const { state } = standingOf(fold.state, true);
    if (state === "running") return undefined;
    const summary = state === "ended" ? this.#endedSummary() : await findOwn(this.#scope, this.#execution);
    return programFacts(this.#scope, summary, await records.lane.work(fold.past()));
  }

  /** What the journal would tell of an execution that has ended: it was read to its end. */
  #endedSummary(): ExecutionSummary {
    const { execution, startedAt, tenant } = headerOf(this.#fold.state, this.#execution);
    return { execution, kind: "program", tenant, startedAt, records: this.records, ended: true };
  }

  /** An execution may be deleted, and another one be made under its id. */
  async #forgetIfAnother(): Promise<void> {
    const found = await findOwn(this.#scope, this.#execution);
    if (found.records >= this.records && found.startedAt === this.#summary?.startedAt) return;
    this.#summary = found;
    this.#fold = new PastFold();
  }
}
