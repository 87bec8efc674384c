import { type QueueDatabase, queueSchema } from "./queue-database.ts";

/** A table that the processes of a fleet share beside the tables of the queue. The first statement makes it. */
export class FleetTable {
  /** As statements name it. */
  readonly name: string;
  readonly #database: QueueDatabase;
  readonly #columns: string;
  #made: Promise<unknown> | undefined;

  constructor(database: QueueDatabase, table: string, columns: string) {
    this.#database = database;
    this.name = `${queueSchema(database.schema)}.${table}`;
    this.#columns = columns;
  }

  async query(text: string, values: readonly unknown[] = []): ReturnType<QueueDatabase["query"]> {
    this.#made ??= this.#make().catch((error: unknown) => {
      this.#made = undefined;
      throw error;
    });
    await this.#made;
    return this.#database.query(text, values);
  }

  /** Two processes that create a table at once: one would fail. With another queue than pg-boss there may be no schema. */
  #make(): Promise<unknown> {
    const [schema = ""] = this.name.split(".");
    return this.#database.query(
      `BEGIN; SELECT pg_advisory_xact_lock(hashtext('${schema}'));
       DO $$ BEGIN IF to_regnamespace('${schema}') IS NULL THEN CREATE SCHEMA ${schema}; END IF; END $$;
       CREATE TABLE IF NOT EXISTS ${this.name} (${this.#columns}); COMMIT`,
    );
  }
}
