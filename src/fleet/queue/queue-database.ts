import type { ExecuteSql } from "../../journal/journal.ts";

/** The database of a queue: that of the journal, over its connections. */
export interface QueueDatabase {
  readonly query: ExecuteSql;
  /** Tells a listener of each notice of a channel, and with undefined if notices may have been lost. */
  readonly onNotify: (channel: string, listener: (payload: string | undefined) => void) => Disposable;
}
