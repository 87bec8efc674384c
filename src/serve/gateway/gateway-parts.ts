import type { TextReader } from "../../base/index.ts";
import type { Model } from "../../models/model.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import type { ApiParts } from "../api/parts.ts";
import type { Key } from "../http/keys.ts";
import type { ClientIds } from "./carried/client-ids.ts";
import type { Secrets } from "./carried/seals.ts";
import type { ClientTools } from "./client-tools.ts";
import type { Expiry } from "./expiry.ts";
import type { SurfaceRequest, Surface } from "./surface/surface.ts";

export interface GatewayParts extends ApiParts {
  readonly secrets: Secrets;
  readonly expiry: Expiry;
  /** How long a paused program waits for its client, in milliseconds. */
  readonly pauseMs: number;
  readonly maxBodyBytes: number;
}

/** One request on its way. */
export interface Exchange {
  readonly surface: Surface;
  readonly key: Key;
  readonly reader: TextReader;
  readonly signal: AbortSignal;
  readonly asked: SurfaceRequest;
  readonly tools: ClientTools;
  readonly ids: ClientIds;
  readonly model: Model;
  /** The runtime of the key. */
  readonly runtime: Runtime;
  readonly pauseMs: number;
  readonly requestId: string;
}

/** An answer that the journal has, or is to have. */
export interface Place {
  readonly execution: string;
  readonly reply: number;
}
