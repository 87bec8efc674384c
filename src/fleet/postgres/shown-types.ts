/* What the declarations of the package show of this store: they name no type of `pg`, which is optional. */
import type { ExecuteSql } from "../../journal/journal.ts";

/** What a change may do within its transaction. */
export interface Within {
  /**
   * Runs in the transaction of the change, before it is committed. If it rejects, nothing of the change is stored, and it rejects
   * with the same error. It may run again if the connection is lost, and only one of its runs is committed.
   */
  readonly within?: ((executeSql: ExecuteSql) => Promise<void>) | undefined;
}

/** Called with the payload of a notice, and with undefined after notices may have been lost. */
export type NoticeListener = (payload: string | undefined) => void;
