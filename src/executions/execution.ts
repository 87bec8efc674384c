import type { CallLine } from "../gate/call-line.ts";
import type { ArtifactPlace } from "../gate/artifacts/session-artifacts.ts";
import type { ExecutionId } from "../base/index.ts";
import type { KeptLarger } from "./drive/ending/keep-value.ts";
import type { Stretch } from "./drive/log-collector.ts";
import type { Limits } from "./limits.ts";
import type { ConnectionTotals, Ending, Logs, NotEvictedCause, Unreplayable } from "./outcome.ts";
import { NO_CONNECTIONS, type Usage, usageBy } from "./from-journal/execution-state.ts";

export interface Execution extends DriveResult {
  readonly execution: ExecutionId;
  /** The limits that the execution began with. The runtime that reports it may have other limits. */
  readonly limits: Limits;
  readonly calls: readonly CallLine[];
  /** UTF-8 bytes of all results that tools returned. */
  readonly resultBytes: number;
  /** Characters that were taken out of what is shown; missing if nothing is redacted. */
  readonly redacted?: number;
  /** Who approved the program itself; undefined if it needed no approval. */
  readonly approvedBy?: string | undefined;
  /** Values that it has kept; undefined for a program that was refused before it started. */
  readonly kept?: KeptValues;
}

export interface KeptValues extends KeptLarger {
  /** Its own artifacts, and those of its conversation. */
  readonly place: ArtifactPlace;
}

export interface DriveResult extends Usage {
  readonly ending: Ending;
  readonly logs: Logs;
  /** All that is kept of what was printed, if `logs` leaves some of it out. */
  readonly printed?: readonly Stretch[] | undefined;
  /** Sentences for the reader of the result. */
  readonly notes: readonly string[];
  /** The guest's notes on the value. A program that has taken over its guest controls their text. */
  readonly remarks: readonly string[];
  readonly turns: number;
  readonly restarts: number;
  /** Why the program kept its guest when it waited last; undefined if it could give it up. */
  readonly notEvicted: NotEvictedCause | undefined;
  /** Why it cannot be replayed; undefined if it can. */
  readonly unreplayable: Unreplayable | undefined;
  readonly connections: ConnectionTotals;
  /** UTF-8 bytes of the results that the program was handed. */
  readonly seenBytes: number;
}

/** The report of a program that no driver has run, without its ending. */
export const NOT_DRIVEN: Omit<DriveResult, "ending"> = {
  logs: { text: "", lines: 0, bytes: 0, dropped: 0 },
  notes: [],
  remarks: [],
  turns: 0,
  restarts: 0,
  notEvicted: undefined,
  unreplayable: undefined,
  ...usageBy(() => 0),
  connections: NO_CONNECTIONS,
  seenBytes: 0,
};
