/** The queue in the schema of pg-boss' tables. */
export const QUEUE = "wakes";

/** Schema of the queue's tables, beside the journal's: journals in one database have queues of their own. It needs no quotes. */
export function queueSchema(schema: string): string {
  return `${schema}_queue`;
}
