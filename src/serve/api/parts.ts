import type { Counts, ExecutionId } from "../../base/index.ts";
import { findOwn } from "../../executions/from-journal/index.ts";
import { isNamedBy } from "../../executions/scope.ts";
import { findIfKnown, NO_ITEMS, readHeader, readRecords } from "../../journal/reading/index.ts";
import type { Header, ToolDigest } from "../../journal/record.ts";
import { CALLERS } from "../../tools/tool.ts";
import type { CurrentKeys } from "../current-keys.ts";
import { hasScope } from "../principal.ts";
import type { Key } from "../http/keys.ts";
import { isOperators, problemOf, RequestProblem } from "../http/problems.ts";
import type { BytesByKey } from "../http/bytes-by-key.ts";
import type { JournalWatch } from "../live/journal-watch.ts";
import type { Metrics } from "../metrics.ts";
import type { Driving } from "../driving/driving.ts";
import type { DrivingParts } from "../driving/local-driving.ts";
import type { TenantIds } from "../tenant-ids.ts";
import type { Readings } from "../readings.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";

export interface ApiParts extends Omit<DrivingParts, "expiry"> {
  readonly driving: Driving;
  readonly keys: CurrentKeys;
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

/** A request that was let in, with what it says and what answers it. */
export interface ApiRequest<Body = unknown, Query = unknown> extends ApiParts {
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
  /** Reads when it is the turn of the key. Rejects as `Readings` does. */
  readonly inTurn: <Value>(read: () => Value | Promise<Value>) => Promise<Value>;
  /** An execution of the key's tenant, by its id in the journal. */
  readonly handleOf: (execution: ExecutionId) => ReturnType<Runtime["execution"]>;
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal;
}

/**
 * The id in the journal of an execution of the key's tenant, unless `refuse` throws for its header. Rejects with
 * `execution_unknown`.
 */
export async function ownUnless(
  { ids, runtime: { journal }, key: { tenant }, id }: ApiRequest,
  refuse: (header: Header) => unknown,
): Promise<ExecutionId> {
  const stored = await ids.stored(tenant, id);
  await findOwn({ journal, tenant }, stored);
  const header = await readHeader(journal, stored, { tenant });
  if (header) await refuse(header);
  return stored;
}

/** The same, of an execution that the key may read: its own, or another's whose tools it has. */
export function ownReadable(request: ApiRequest): Promise<ExecutionId> {
  return ownUnless(request, (header) => refuseOfOtherKey(request, header));
}

/** The same, of a conversation. */
export function ownConversation(
  request: ApiRequest,
  refuse: (header: Header) => unknown = (header) => refuseOfOtherKey(request, header),
): Promise<ExecutionId> {
  return ownUnless(request, (header) => {
    if (header.kind !== "conversation")
      throw new RequestProblem(
        "execution_unknown",
        `This is no conversation, but a ${header.kind}: GET /v1/executions/${encodeURIComponent(request.id)}`,
      );
    return refuse(header);
  });
}

/** Takes a place of the key for an execution, until the function that it returns is called. */
export function takePlace({ atOnce, key }: Pick<ApiRequest, "atOnce" | "key">): () => void {
  const release = atOnce.take(key.id, 1, key.concurrency);
  if (release) return release;
  throw new RequestProblem("too_many_at_once", `This key runs ${key.concurrency} executions already, its maximum.`);
}

/** A request may take its time before anything is begun, and keys change. */
export function refuseRevoked({ keys, key }: Pick<ApiRequest, "keys" | "key">): void {
  keys.signalOf(key).throwIfAborted();
}

/** Refuses what an execution of the gateway is told elsewhere: only its client, which its ids are sealed for, goes on with it. */
export function refuseOfGateway({ owner }: Header): void {
  if (owner?.surface === undefined) return;
  throw new RequestProblem(
    "execution_driven",
    "A request to /v1/messages or /v1/responses has begun this execution. Answer its calls and continue it there, with the same key.",
  );
}

/** The name of a tool that only `*` means. */
const ANY = "*";

/**
 * What another key's execution holds is for keys that may read, and may use all of its tools; so is what a call of the key's own has
 * started, as an agent has tools that its caller does not have. Undefined if this key may.
 */
export function faultOfAnother(key: Key, header: Header): string | undefined {
  const { owner, parent } = header;
  // At a surface the tools are the client's own.
  const isOwn = owner?.key === key.id;
  if (isOwn && (!parent || owner.surface)) return undefined;
  if (!isOwn && !hasScope(key, "read"))
    return "Another key has begun this execution. What it holds needs the scope read, which this key does not have.";
  const { allowedCallers: allowed = CALLERS } = key;
  const lacks = ({ name, callers = CALLERS }: Pick<ToolDigest, "name" | "callers">) =>
    !isNamedBy(key, name) || callers.some((caller) => !allowed.includes(caller));
  // Copied turns that a client or a host has given may tell of any tool.
  const copied = "continues" in header && header.continues ? (header.continues.tools ?? [ANY]) : [];
  if (![...header.tools, ...copied.map((name) => ({ name }))].some(lacks)) return undefined;
  return `${isOwn ? "An agent of the host" : "Another key"} has begun this execution, with tools that this key may not use: ask with a key that may.`;
}

/**
 * Throws if this key may not have what an execution holds, with the tools that a conversation got after its beginning. They
 * are looked for from a record on: resolves with the record that is next.
 */
export async function refuseOfOtherKey(
  { runtime: { journal }, key }: Pick<ApiRequest, "runtime" | "key">,
  header: Header,
  from = 0,
): Promise<number> {
  const faultOf = (tools: Header["tools"]) => faultOfAnother(key, { ...header, tools });
  const refuse = (fault: string | undefined) => {
    if (fault !== undefined) throw new RequestProblem("scope_missing", fault);
  };
  refuse(faultOf(header.tools));
  if (header.kind !== "conversation" || !faultOf([{ name: ANY, digest: "" }])) return from;
  let at = from;
  for await (const record of readRecords(journal, header.execution, { tenant: key.tenant, from, ...NO_ITEMS })) {
    at += 1;
    if (record.type === "tools") refuse(faultOf(record.tools));
  }
  return at;
}

/** Refuses an execution of this id that exists, if the gateway's client or another key goes on with it. */
export async function refuseIfElsewhere(request: ApiRequest, id: ExecutionId): Promise<void> {
  const { journal } = request.runtime;
  const { tenant } = request.key;
  const found = await findIfKnown(journal, id);
  const header = found?.tenant === tenant ? await readHeader(journal, id, { tenant }) : undefined;
  if (header) await refuseElsewhere(request, header);
}

/** Refuses to go on here with what the gateway's client or another key goes on with. */
export async function refuseElsewhere(request: ApiRequest, header: Header): Promise<void> {
  refuseOfGateway(header);
  await refuseOfOtherKey(request, header);
}

interface Begun<Value> {
  readonly running: Promise<Value>;
  /** Resolves once the journal has it: before that, the client would rely on what is only in memory. */
  readonly stored: Promise<void>;
}

/** What a request has begun goes on, whatever becomes of the request. Resolves with its end, or without `wait` once it is stored. */
export async function untilBegun<Value>(
  request: ApiRequest<{ readonly wait: boolean }>,
  id: ExecutionId,
  { running, stored }: Begun<Value>,
): Promise<Value | void> {
  const { body, holdBody, onError } = request;
  holdBody(running);
  if (!body.wait)
    running.catch((error: unknown) => {
      if (isOperators(problemOf(error))) onError(error);
    });
  const ended = await (body.wait ? running : Promise.race([stored, running]));
  // Another key may have begun it at the same time.
  await refuseIfElsewhere(request, id);
  return ended;
}

/** The answer to a request that does not wait. */
export function acceptedResponse({ ids, key }: ApiRequest, id: ExecutionId, status = 202): Response {
  return Response.json({ execution: ids.shown(key.tenant, id), state: "running" }, { status });
}
