import type { ListFilter, ListRow } from "../../src/serve/views/list/list.ts";
import type { CallTexts, ExecutionView } from "../../src/serve/views/view.ts";
import type { AnswerWords } from "../../src/serve/views/words.ts";

/** Where the page has executions from. */
export interface Source {
  list(asked: AskedList, signal: AbortSignal): Promise<Listed>;
  /** The view of an execution, if it is here already and cannot change. */
  known(execution: string): ExecutionView | undefined;
  /** Tells the view of an execution, and again whenever it has changed, until the signal aborts. */
  watch(execution: string, onView: (asked: Asked<ExecutionView>) => void, signal: AbortSignal): void;
  /** The whole texts of a call. */
  readonly call: (execution: string, id: string, signal: AbortSignal) => Promise<CallTexts>;
  readonly decide: (execution: string, id: string, decision: Decision) => Promise<void>;
}

/** What was asked for: the last that came, and the error since. */
export interface Asked<Value> {
  readonly value?: Value;
  readonly error?: unknown;
}

export interface AskedList extends Pick<ListFilter, "state" | "tool" | "text"> {
  /** Only executions that began before this time, in milliseconds since 1970. */
  readonly before?: number | undefined;
}

export interface Listed {
  readonly executions: readonly Row[];
  /** The `before` of the part with older executions; missing if there are none. */
  readonly next?: number;
}

/** One execution in a list. A server that hides something leaves it out. */
export type Row = Pick<ListRow, "execution" | "kind" | "state" | "startedAt" | "title" | "waitsFor"> &
  Partial<Omit<ListRow, "execution" | "kind" | "state" | "startedAt" | "title" | "waitsFor">>;

export interface Decision {
  readonly answer: AnswerWords["answer"];
  readonly hold?: number;
  /** The result of a call that was done, as JSON. */
  readonly result?: string;
  readonly note?: string;
  /** Further calls of the same tool that need no decision. */
  readonly grant?: { readonly calls: number };
}

/** A request that the server refused. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
