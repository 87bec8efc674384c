import { createHash } from "node:crypto";

/** The queue in the schema of pg-boss' tables. */
export const QUEUE = "wakes";

/** Longest name of a schema that pg-boss takes, and digits that tell longer ones apart. */
const [LONGEST, DIGITS] = [50, 12];
const ENDING = "_queue";

/** Schema of the queue's tables, beside the journal's: journals in one database have queues of their own. It needs no quotes. */
export function queueSchema(schema: string): string {
  const name = schema + ENDING;
  if (name.length <= LONGEST) return name;
  const hash = createHash("sha256").update(schema).digest("hex").slice(0, DIGITS);
  return `${schema.slice(0, LONGEST - ENDING.length - DIGITS - 1)}_${hash}${ENDING}`;
}
