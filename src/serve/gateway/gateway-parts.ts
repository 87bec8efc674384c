import type { TextReader } from "../../base/index.ts";
import type { Model } from "../../models/model.ts";
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

/** One request on its way. Its runtime is that of its key. */
export interface Exchange extends Omit<GatewayParts, "ids"> {
  readonly surface: Surface;
  readonly key: Key;
  readonly reader: TextReader;
  readonly signal: AbortSignal;
  readonly asked: SurfaceRequest;
  readonly tools: ClientTools;
  readonly ids: ClientIds;
  readonly model: Model;
  readonly requestId: string;
}

/** An answer that the journal has, or is to have. */
export interface AnswerPlace {
  readonly execution: string;
  readonly reply: number;
}
