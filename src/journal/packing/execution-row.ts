import { hasCode, type PortcullisError } from "../../base/index.ts";
import type { ExecutionSummary } from "../journal.ts";
import { journalDamaged } from "../journal-error.ts";
import type { Header } from "../record.ts";

/** Maximum size of a stored record, in bytes, beside its long texts. A larger one is not read. */
export const MAX_RECORD_BYTES = 256 * 1024 * 1024;
/** Maximum size of a text of an execution's row, in bytes. A larger one is not read. */
export const MAX_NAME_BYTES = 64 * 1024;
/** Maximum size of a stored text, compressed, in bytes. A larger one is not read. */
export const MAX_STORED_BYTES = 512 * 1024 * 1024;

/** An execution as a table holds it, after `executionRow` has checked it. */
interface ExecutionRow {
  readonly id: string;
  readonly kind: Header["kind"];
  readonly tenant: string;
  readonly started_at: number;
  readonly head: number;
  readonly ended: number;
  readonly driver: string | null;
  readonly leased_until: number | null;
}

const KINDS: ReadonlySet<unknown> = new Set<Header["kind"]>(["program", "conversation", "call"]);

/** The row of an execution. Throws `journal_corrupt`: what is stored may come from elsewhere. */
function executionRow(found: object): ExecutionRow {
  const { id, kind, tenant, started_at, head, ended, driver, leased_until } = found as Record<
    keyof ExecutionRow,
    unknown
  >;
  const isRow =
    typeof id === "string" &&
    KINDS.has(kind) &&
    typeof tenant === "string" &&
    isAmount(started_at) &&
    isAmount(head) &&
    head > 0 &&
    (ended === 0 || ended === 1) &&
    (driver === null || typeof driver === "string") &&
    (leased_until === null || isAmount(leased_until));
  if (isRow) return found as ExecutionRow;
  const named = typeof id === "string" ? ` ${JSON.stringify(id.slice(0, 100))}` : "";
  throw journalDamaged(`the entry of execution${named} has values that no execution has`);
}

/**
 * An execution of a list. One row that cannot be read, which anyone may have written who can write rows, must not hide the
 * others: it is left out, and `onDamaged` is told.
 */
export function listedOf<Found>(
  read: () => Found,
  onDamaged: ((error: PortcullisError) => void) | undefined,
): Found | undefined {
  try {
    return read();
  } catch (error) {
    if (!hasCode(error, "journal_corrupt")) throw error;
    onDamaged?.(error);
    return undefined;
  }
}

function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** What a list tells of the execution in a row. Throws like `executionRow`. */
export function summaryOf(found: object): ExecutionSummary {
  const { id, kind, tenant, started_at: startedAt, head: records, ...row } = executionRow(found);
  const lease = row.driver === null ? undefined : { driver: row.driver, until: row.leased_until ?? 0 };
  return { execution: id, kind, tenant, startedAt, records, ended: row.ended === 1, lease };
}
