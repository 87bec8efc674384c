import type { ExecutionId } from "../journal/execution-id.ts";
import type { Header } from "../journal/record.ts";
import type { ViewState } from "./view.ts";

/** One execution in a list. */
export interface ListRow {
  readonly execution: ExecutionId;
  readonly kind: Header["kind"];
  /** `unreadable`: it has no outcome, and its records cannot be read. */
  readonly state: ViewState | "unreadable";
  readonly tenant: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Number of its records. */
  readonly records: number;
  /** Whether a driver holds it. */
  readonly driven: boolean;
  /** Names of the tools whose calls it waits for. */
  readonly waitsFor: readonly string[];
  /** The execution whose call has started it, of open ones. */
  readonly parent?: ExecutionId;
  /** The beginning of the program's source or of the task; of a call of a host its tool. */
  readonly title: string;
  /** Language of a program, name of the model of a conversation, caller of a call. */
  readonly by: string;
  /** Of a program: tools that its source writes. Of a conversation: its tools. The first 100 of them. */
  readonly tools: readonly string[];
  /** Type of the ending, like `completed`. */
  readonly outcome?: string;
  /** Milliseconds from start to end. */
  readonly ms?: number;
}

/** The filter of a list. */
export interface ListFilter {
  readonly state?: ListRow["state"] | undefined;
  /** Name of a tool, or a part of one. */
  readonly tool?: string | undefined;
  readonly tenant?: string | undefined;
  /** Part of an id, of a program's source or of a task; upper and lower case are the same. */
  readonly text?: string | undefined;
  /** Only executions that started before this time, in milliseconds since 1970. */
  readonly before?: number | undefined;
  /** Maximum of rows; 100 by default. */
  readonly limit?: number | undefined;
}

export interface ListView {
  readonly executions: readonly ListRow[];
  /** The `before` of the next page; missing on the last page. */
  readonly next?: number;
}
