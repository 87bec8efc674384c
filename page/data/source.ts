import type { ListFilter, ListRow } from "../../src/views/list/list.ts";
import type { CallTexts, ExecutionView } from "../../src/views/view.ts";
import type { OnEvent } from "./follow-events.ts";

/** Where the page has executions from: a server, or the file that it stands in. */
export interface Source {
  /** Whether more may come, and decisions can be made. */
  readonly isLive: boolean;
  list(asked: AskedList, signal: AbortSignal): Promise<Listed>;
  view(execution: string, signal: AbortSignal): Promise<ExecutionView>;
  /** The whole texts of a call; missing if they cannot be had. */
  readonly call?: (execution: string, id: string, signal: AbortSignal) => Promise<CallTexts>;
  readonly decide?: (execution: string, id: string, decision: Decision) => Promise<void>;
  /** Calls back whenever something has happened to the execution, until the signal aborts. */
  readonly watch?: (execution: string, onEvent: OnEvent, signal: AbortSignal) => void;
}

export interface AskedList extends Pick<ListFilter, "state" | "tool" | "text"> {
  /** How many parts of the list are asked for; 1 by default. */
  readonly pages?: number;
}

export interface Listed {
  readonly executions: readonly Row[];
  /** Whether there are older executions. */
  readonly hasMore: boolean;
}

/** One execution in a list. A server that hides something leaves it out. */
export type Row = Pick<ListRow, "execution" | "kind" | "state" | "startedAt" | "title" | "waitsFor"> &
  Partial<Omit<ListRow, "execution" | "kind" | "state" | "startedAt" | "title" | "waitsFor">>;

export interface Decision {
  readonly allow: boolean;
  readonly note?: string;
}

/** A request that the server refused. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
