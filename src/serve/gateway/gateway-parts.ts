import type { ApiParts } from "../api/parts.ts";
import type { Seals } from "./carried/seals.ts";

export interface GatewayParts extends ApiParts {
  readonly seals: Seals;
  /** How long a paused program waits for its client, in milliseconds. */
  readonly pauseMs: number;
  /** How long answers are kept that their clients have asked to be stored, in milliseconds. */
  readonly storedMs: number;
  readonly maxBodyBytes: number;
}
