import type { ExecutionId } from "../../base/index.ts";

/** An execution that is to be taken up. */
export interface Wake {
  readonly execution: ExecutionId;
  readonly tenant: string;
  /** How long it is left alone first, in milliseconds. */
  readonly afterMs?: number;
  /** Whether the execution was submitted and no driver has claimed it. */
  readonly isNew?: boolean;
  /** How often it could not be driven since it was last driven. */
  readonly failures?: number;
}
