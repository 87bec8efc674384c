import type { ExecutionId } from "../../journal/execution-id.ts";
import { findOwn } from "../../programs/from-journal/past-execution.ts";
import type { Runtime } from "../../runtime.ts";
import type { Key } from "../http/keys.ts";
import { RequestProblem } from "../http/problems.ts";
import type { BytesByKey } from "../http/bytes-by-key.ts";
import type { JournalWatch } from "../live/journal-watch.ts";
import type { Counts } from "../../places/counts.ts";
import type { Metrics } from "../metrics.ts";
import type { Driving } from "../driving/driving.ts";
import type { DrivingParts } from "../driving/local-driving.ts";
import type { TenantIds } from "../tenant-ids.ts";
import type { Readings } from "../readings.ts";

export interface ApiParts extends Omit<DrivingParts, "expiry"> {
  readonly driving: Driving;
  /** The runtime with the tools and the limits of a key; undefined for a key that was revoked or changed since. */
  readonly runtimeOf: (key: Key) => Runtime | undefined;
  /** Whether a key that was let in still holds: it may have been revoked or changed, or have expired. */
  readonly isCurrent: (key: Key) => boolean;
  readonly ids: TenantIds;
  readonly atOnce: Counts;
  readonly watch: JournalWatch;
  readonly open: BytesByKey;
  readonly readings: Readings;
  readonly metrics: Metrics;
  /** Whether the server takes requests that begin something. */
  readonly isReady: () => boolean;
  /** Aborted when the server closes. */
  readonly closing: AbortSignal;
}

/** A request that was let in, with what it says. */
export interface ApiRequest<Body, Query> {
  readonly key: Key;
  /** The id in the path, as the client wrote it. */
  readonly id: string;
  /** The call in the path, as the client wrote it. */
  readonly call: string;
  /** The name of an artifact in the path, as the client wrote it. */
  readonly name: string;
  readonly body: Body;
  readonly query: Query;
  readonly headers: Headers;
  /** Notes which execution it is about, if the path does not tell it. */
  readonly about: (execution: string) => void;
  /** Counts the body as held by the key until this has settled, also after the answer. */
  readonly holdBody: (until: Promise<unknown>) => void;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/** The id in the journal of an execution that the key's tenant may see. Rejects with `execution_unknown`. */
export async function ownExecution({ ids, runtime }: ApiParts, { tenant }: Key, id: string): Promise<ExecutionId> {
  const stored = await ids.stored(tenant, id);
  await findOwn({ journal: runtime.journal, tenant }, stored);
  return stored;
}

/** The id in the journal of a conversation that the key's tenant may see. Rejects with a `RequestProblem`, also for a program. */
export async function ownConversation({ ids, runtime }: ApiParts, { tenant }: Key, id: string): Promise<ExecutionId> {
  const stored = await ids.stored(tenant, id);
  const { kind } = await findOwn({ journal: runtime.journal, tenant }, stored);
  if (kind === "conversation") return stored;
  throw new RequestProblem(
    "execution_unknown",
    `This is no conversation, but a ${kind}: GET /v1/executions/${encodeURIComponent(id)}`,
  );
}

/** The runtime of a key that still holds. */
export function currentRuntime({ runtimeOf }: ApiParts, key: Key): Runtime {
  const runtime = runtimeOf(key);
  if (runtime) return runtime;
  throw new RequestProblem("key_unknown", "This key was changed or revoked during the request.");
}

/** Takes a place of the key for an execution, until the function that it returns is called. */
export function takePlace({ atOnce }: ApiParts, key: Key): () => void {
  const release = atOnce.take(key.id, 1, key.atOnce);
  if (release) return release;
  throw new RequestProblem("too_many_at_once", `This key runs ${key.atOnce} executions already, its maximum.`);
}

/** A request may take its time before anything is begun, and keys change. */
export function refuseRevoked({ isCurrent }: ApiParts, key: Key): void {
  if (!isCurrent(key))
    throw new RequestProblem("key_unknown", "This key was changed or revoked during the request. Nothing was begun.");
}
