import { Places, PortcullisError, setImmediate } from "../../base/index.ts";
import type { PoolClient } from "pg";
import type { Within } from "./shown-types.ts";
import { type ChangeResult, changedOf, changeText, changeValues, needsNotice, changeNotice } from "./changes.ts";
import { BlockedError, type Database, type DatabaseRow, type TransactionOptions } from "./connection/database.ts";
import { quotedName } from "./tables/tables.ts";
import { inTransaction } from "./connection/transaction.ts";
import type { Change, PackedRecord, StoredText } from "../../journal/packing/index.ts";

/** Changes that share a commit, at most, and the length of their records, in UTF-16 code units. A change with more is made alone. */
const [GROUP_SIZE, GROUP_LENGTH] = [128, 1024 * 1024];

export interface QueuedChange extends Change, Within {}

export interface Result {
  /** Missing if nothing was done: the head, or the driver, is another one, or there is such an execution already. */
  readonly changed: ChangeResult | undefined;
  /** Whether an earlier attempt of the same change may have been done, because its connection was lost. */
  readonly mayBeDone: boolean;
}

interface Waiting {
  readonly asked: QueuedChange;
  readonly length: number;
  /** Whether its records are inserted by statements of their own. */
  readonly hasParts: boolean;
  /** Whether it has a transaction of its own: for what it does within it, or because its records have parts. */
  readonly isAlone: boolean;
  /** Whether an attempt may have been done whose connection was lost. */
  mayBeDone: boolean;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface QueueOptions {
  /** Changes that are made alone, at once. */
  readonly aloneAtOnce: number;
  readonly channel: string;
  /** Tells notices of this process from those of others. */
  readonly token: string;
}

/**
 * Makes changes of executions. Those that wait while others are under way are made together, by one statement and one
 * commit. Changes of one execution are made one after the other, in their order.
 */
export class ChangeQueue {
  readonly #database: Database;
  readonly #options: QueueOptions;
  readonly #text: string;
  #line: Waiting[] = [];
  readonly #underWay = new Set<string>();
  /** Of changes that are made alone: each gives its place back while it waits for a lock or for the database. */
  readonly #alone: Places;
  #isGrouping = false;
  #isSet = false;

  constructor(database: Database, options: QueueOptions) {
    this.#database = database;
    this.#options = options;
    this.#alone = new Places({ atOnce: options.aloneAtOnce });
    this.#text = changeText(quotedName(database.schema));
  }

  make(asked: QueuedChange): Promise<Result> {
    return new Promise((resolve, reject) => {
      const length = asked.records.reduce((sum, { text }) => sum + text.length, 0);
      const hasParts = length > GROUP_LENGTH || asked.records.some(({ longTexts }) => longTexts.length > 0);
      const isAlone = hasParts || asked.within !== undefined;
      this.#line.push({ asked, length, isAlone, hasParts, mayBeDone: false, resolve, reject });
      this.#serveSoon();
    });
  }

  /** Changes that are asked for in one turn of the event loop are made together. */
  #serveSoon(): void {
    if (this.#isSet) return;
    this.#isSet = true;
    setImmediate(() => {
      this.#isSet = false;
      this.#serve();
    });
  }

  #serve(): void {
    const group: Waiting[] = [];
    let length = 0;
    // In the order of the line, and none that waits for a change of the same execution.
    const seen = new Set(this.#underWay);
    const rest: Waiting[] = [];
    const mayJoin = (waiting: Waiting) =>
      !this.#isGrouping && group.length < GROUP_SIZE && (group.length === 0 || length + waiting.length <= GROUP_LENGTH);
    for (const waiting of this.#line) {
      const { execution } = waiting.asked;
      if (seen.has(execution) || !(waiting.isAlone || mayJoin(waiting))) rest.push(waiting);
      else if (waiting.isAlone) void this.#makeAlone(waiting);
      else {
        length += waiting.length;
        group.push(waiting);
      }
      seen.add(execution);
    }
    this.#line = rest;
    if (group.length > 0) void this.#makeTogether(group);
  }

  async #makeTogether(group: Waiting[]): Promise<void> {
    this.#isGrouping = true;
    for (const { asked } of group) this.#underWay.add(asked.execution);
    // In one order everywhere, so that no two statements wait for each other.
    group.sort((a, b) => (a.asked.execution < b.asked.execution ? -1 : 1));
    const isSettled = await this.#settle(group, { unlessBlocked: true });
    this.#isGrouping = false;
    // The one that is the reason why none was made must not hold up the others.
    if (!isSettled) for (const one of group) void this.#makeAlone(one);
    this.#end(isSettled ? group : []);
  }

  async #makeAlone(waiting: Waiting): Promise<void> {
    this.#underWay.add(waiting.asked.execution);
    await this.#settle([waiting], { places: this.#alone });
    this.#end([waiting]);
  }

  #end(group: readonly Waiting[]): void {
    for (const { asked } of group) this.#underWay.delete(asked.execution);
    if (this.#line.length > 0) this.#serve();
  }

  /** Makes changes together. Resolves with false if none was made and one of them may be the reason. Never rejects. */
  async #settle(group: readonly Waiting[], options: TransactionOptions): Promise<boolean> {
    const onLost = () => {
      for (const one of group) one.mayBeDone = true;
    };
    const [alone] = group;
    const make = (client: PoolClient) =>
      alone?.isAlone ? this.#makeInTransaction(client, alone) : this.#makeByStatement(client, group);
    try {
      const result = await this.#database.run(make, { idempotent: true, onLost, ...options });
      for (const [place, { resolve, mayBeDone }] of group.entries()) resolve({ changed: result.get(place), mayBeDone });
    } catch (error) {
      if (error instanceof BlockedError || (group.length > 1 && !isUnavailable(error))) return false;
      for (const { reject } of group) reject(error);
    }
    return true;
  }

  async #makeByStatement(client: PoolClient, group: readonly Waiting[]): Promise<ReadonlyMap<number, ChangeResult>> {
    const changes = group.map(({ asked }) => asked);
    const query = client.query<DatabaseRow>(this.#statement(changes, true));
    this.#notify(client, changes);
    return changedOf((await query).rows);
  }

  #statement(changes: readonly Change[], withRecords: boolean) {
    return { name: "portcullis change", text: this.#text, values: changeValues(changes, withRecords) };
  }

  async #makeInTransaction(
    client: PoolClient,
    { asked, hasParts }: Waiting,
  ): Promise<ReadonlyMap<number, ChangeResult>> {
    const result = await inTransaction(client, async () => {
      const found = changedOf((await client.query<DatabaseRow>(this.#statement([asked], !hasParts))).rows);
      const changed = found.get(0);
      if (changed && hasParts) await insertParts(client, quotedName(this.#database.schema), asked, changed);
      if (changed) await asked.within?.((text, values) => this.#database.queryOn(client, text, values));
      return found;
    });
    this.#notify(client, [asked]);
    return result;
  }

  /** Sent behind the append and not waited for: it cannot be lost by the end of this process alone. */
  #notify(client: PoolClient, changes: readonly Change[]): void {
    const { channel, token } = this.#options;
    const updates = changes.filter(needsNotice);
    if (updates.length === 0) return;
    client.query<DatabaseRow>(changeNotice(this.#database.schema, channel, token, updates)).catch(() => {
      // The connection is lost. What listens is told to look again once it has a new one, too.
    });
  }
}

/** Whether other changes would fail with this error, too. Any other error may be due to one of them alone. */
function isUnavailable(error: unknown): boolean {
  return PortcullisError.is(error) && (error.code === "journal_unavailable" || error.code === "runtime_closed");
}

/** Records that are inserted by one statement, in UTF-16 code units of their texts. */
const PART_LENGTH = 4 * 1024 * 1024;

/** Inserts the records and the long texts of one change, in the transaction that has moved the head. */
async function insertParts(
  client: PoolClient,
  schema: string,
  { records }: Change,
  { number, head }: ChangeResult,
): Promise<void> {
  const texts = distinctTexts(records);
  if (texts.length > 0) await insertTexts(client, schema, texts, number);
  const first = head - records.length;
  for (let from = 0; from < records.length;) {
    const part = partOf(records, from);
    await client.query(
      `INSERT INTO ${schema}.records (execution, position, record)
       SELECT $1, $2::int + place - 1, record FROM unnest(string_to_array($3, E'\\n')) WITH ORDINALITY AS r (record, place)`,
      [number, first + from, part.map(({ text }) => text).join("\n")],
    );
    from += part.length;
  }
}

/**
 * The uses first: a statement that deletes unused texts locks the uses against new ones, and looks at them only then.
 * The texts in one order everywhere, so that no two transactions wait for each other.
 */
async function insertTexts(
  client: PoolClient,
  schema: string,
  texts: readonly StoredText[],
  number: string,
): Promise<void> {
  await client.query(
    `INSERT INTO ${schema}.uses (execution, tenant, sha256)
     SELECT number, tenant, decode(sha256, 'hex') FROM ${schema}.executions, unnest($2::text[]) AS s (sha256)
     WHERE number = $1 ON CONFLICT DO NOTHING`,
    [number, texts.map(({ sha256 }) => sha256.toString("hex"))],
  );
  for (const { sha256, bytes, data } of texts)
    await client.query(
      `INSERT INTO ${schema}.texts (tenant, sha256, bytes, data)
       SELECT tenant, $2::bytea, $3::bigint, $4::bytea FROM ${schema}.executions WHERE number = $1 ON CONFLICT DO NOTHING`,
      [number, sha256, bytes, data],
    );
}

function distinctTexts(records: readonly PackedRecord[]): StoredText[] {
  const texts = new Map(
    records.flatMap(({ longTexts }) => longTexts.map((one) => [one.sha256.toString("hex"), one] as const)),
  );
  return [...texts.keys()].toSorted().map((sha256) => texts.get(sha256)!);
}

function partOf(records: readonly PackedRecord[], from: number): readonly PackedRecord[] {
  let length = 0;
  let to = from;
  for (; to < records.length; to += 1) {
    const own = records[to]!.text.length;
    if (to > from && length + own > PART_LENGTH) break;
    length += own;
  }
  return records.slice(from, to);
}
