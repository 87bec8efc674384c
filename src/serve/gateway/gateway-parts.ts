import type { ApiParts } from "../api/parts.ts";
import type { Seals } from "./carried/seals.ts";
import type { Expiry } from "./expiry.ts";

export interface GatewayParts extends ApiParts {
  readonly seals: Seals;
  readonly expiry: Expiry;
  /** How long a paused program waits for its client, in milliseconds. */
  readonly pauseMs: number;
  readonly maxBodyBytes: number;
}
