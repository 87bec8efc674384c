import { randomBytes } from "node:crypto";
import type { RequestListener } from "node:http";
import {
  Counts,
  loadPackage,
  optionError,
  packageVersion,
  PortcullisError,
  readOptions,
  type CheckedOptions,
} from "../base/index.ts";
import type { AgentEvent } from "../conversations/event.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import { admission } from "./http/admit.ts";
import { isLoopback } from "./http/allowed-hosts.ts";
import { type Key, type Keys, keysLeftBy, parseKeys, tokenKeys } from "./http/keys.ts";
import { type HttpListener, listenHttp } from "./http/listen-http.ts";
import { nodeListener } from "./http/node-listener.ts";
import { bytesByKey, requestsByKey } from "./http/bytes-by-key.ts";
import { gatewayExpiry, silent } from "./gateway/expiry.ts";
import { secretKeys } from "./gateway/carried/seals.ts";
import { type JournalWatch, journalWatch } from "./live/journal-watch.ts";
import { mountedMcp } from "./mcp/http/mounted-mcp.ts";
import type { DecideCommand } from "./mcp/program-results.ts";
import { Metrics } from "./metrics.ts";
import { type CurrentKeys, currentKeys } from "./current-keys.ts";
import { type Driving, isOthers } from "./driving/driving.ts";
import { Readings } from "./readings.ts";
import {
  CLOSE_RULES,
  type CloseOptions,
  LISTEN_RULES,
  type ListenOptions,
  SERVER_RULES,
  type ServerOptions,
} from "./server-options.ts";
import { servedModels } from "./served-models.ts";
import { ServerRuns } from "./server-runs.ts";
import { webhooksOf } from "./webhooks/webhooks.ts";
import { tenantIds } from "./tenant-ids.ts";
import { readHeader, readList } from "../journal/reading/index.ts";
import type { ExecutionSummary } from "../journal/journal.ts";
import { isDriven } from "../executions/driven.ts";
import { type DrivingParts, localDriving } from "./driving/local-driving.ts";
import { fleetDriving } from "./driving/fleet-driving.ts";

const LOOPBACK = "127.0.0.1";

/** A server that listens. */
export interface Listening {
  /** Its address, without a slash at its end. */
  readonly url: string;
}

/** The doors of a runtime over HTTP. */
export interface PortcullisServer {
  /** Answers one request; for a server of your own (docs/http.md). Never rejects. */
  readonly fetch: (request: Request) => Promise<Response>;
  /**
   * The same for a server of node's: `http.createServer(server.listener)`, or `app.use(server.listener)` of Express, before
   * what reads bodies.
   */
  readonly listener: RequestListener;
  /** The token that clients send if there are no keys; undefined with keys. */
  readonly token: string | undefined;
  /**
   * Listens at an address, and takes up what was left open in the journal. Rejects with `option_invalid` for an address
   * that others can reach if there are no keys, with `door_unavailable` if it cannot be listened on, and with
   * `runtime_closed` if the server is closed.
   */
  readonly listen: (options?: ListenOptions) => Promise<Listening>;
  /**
   * Replaces the keys, from the next request on. Throws `option_invalid` if they are not all valid, or have an unknown tool: the
   * former keys then stay, except those that the new keys lack, or have with another secret.
   */
  readonly setKeys: (keys: string | object) => void;
  /**
   * Continues executions that other drivers have left, and executions that were decided since. `listen` does so at its
   * start and every ten seconds. Resolves with their number once they have ended or wait.
   */
  readonly recover: () => Promise<number>;
  /**
   * Refuses further requests, waits for running executions, and leaves the rest open in the journal, for the next start
   * to continue; with a journal in memory the rest is cancelled. Resolves with the number of executions that were left
   * open. The runtime stays open.
   */
  readonly close: (options?: CloseOptions) => Promise<{ readonly leftOpen: number }>;
}

/**
 * Creates a server for a runtime: programs, decisions and events over HTTP, MCP at `/mcp`, and the page. Rejects with
 * `option_invalid` for an invalid option or key, and with `door_unavailable` if the package hono is missing.
 */
export async function createServer(runtime: Runtime, options: ServerOptions = {}): Promise<PortcullisServer> {
  if (typeof (runtime as Partial<Runtime> | null | undefined)?.derive !== "function")
    throw optionError("createServer(runtime)", "a runtime", runtime);
  const read = readOptions("createServer", options, SERVER_RULES);
  const missing = "The server needs the package hono: npm install hono.";
  const app = await loadPackage("door_unavailable", missing, () => import("./api/app.ts"));
  return serverOf(runtime, read, app);
}

type Options = CheckedOptions<typeof SERVER_RULES>;
type App = typeof import("./api/app.ts");

function serverOf(runtime: Runtime, options: Options, app: App): PortcullisServer {
  const { idleMs, onError = () => {} } = options;
  let isListening = false;
  let listener: HttpListener | undefined;
  let closed: Promise<{ readonly leftOpen: number }> | undefined;
  const { fetch, token, keys, admitted, driving, ending } = partsOf(runtime, options, app, () => closed === undefined);
  const drain = async (drainMs: number) => {
    driving.stop();
    listener?.stop();
    const leftOpen = await driving.drain(drainMs);
    await ending.disposeAsync();
    await listener?.close();
    return { leftOpen };
  };
  const listen = async (input: ListenOptions = {}): Promise<Listening> => {
    const { port, host = LOOPBACK } = readOptions("listen", input, LISTEN_RULES);
    if (token !== undefined && !isLoopback(host)) throw openTo(host);
    if (closed) throw closedServer();
    if (isListening) throw invalid("listen: this server already listens. Create another server to listen again.");
    admitted.listensOn(host);
    isListening = true;
    const opened = await listenHttp({ ...options, fetch, port, host, onError }).catch((error: unknown) => {
      isListening = false;
      throw error;
    });
    listener = opened;
    if (closed) {
      // The server was closed while its listener was opened.
      await opened.close();
      throw closedServer();
    }
    await driving.start();
    return { url: opened.url };
  };
  return {
    fetch,
    listener: nodeListener(fetch, { idleMs, onError }),
    token,
    listen,
    setKeys: (newKeys) => {
      if (token === undefined) return replaceKeys(keys, newKeys);
      throw invalid("setKeys: this server has a token and no keys. Create another server with keys.");
    },
    recover: () => driving.recover(),
    close: (input = {}) => {
      const { drainMs } = readOptions("close", input, CLOSE_RULES);
      return (closed ??= drain(drainMs));
    },
  };
}

function openTo(host: string): PortcullisError {
  return invalid(
    `listen({ host }): others can reach ${JSON.stringify(host)}, and there are no keys: give createServer({ keys }), or leave out host to serve this machine only.`,
  );
}

function replaceKeys(keys: CurrentKeys, newKeys: string | object): void {
  try {
    keys.replace(readKeys("setKeys(keys)", newKeys));
  } catch (error) {
    keys.keep(keysLeftBy(newKeys));
    throw error;
  }
}

/** What a server is made of. What ends with it is in `ending`, the last first. */
function partsOf(runtime: Runtime, options: Options, { createApp }: App, isReady: () => boolean) {
  const { journal } = runtime;
  const { maxBodyBytes, pauseMs, storedMs, hostNames = [], onError = () => {}, onRequest = () => {} } = options;
  const served = servedModels(options);
  const token = options.token ?? randomBytes(24).toString("base64url");
  const first =
    options.keys === undefined ? tokenKeys(token, runtime.tenant) : readKeys("createServer({ keys })", options.keys);
  const ids = tenantIds(journal);
  const webhooks = webhooksOf({ webhooks: options.webhooks ?? [], journal, ids, onError });
  const watch = journalWatch(journal);
  const onEvent = (event: AgentEvent) => {
    watch.wake(event.execution);
    webhooks.take(event);
  };
  const onRevoked = async (key: Key) => endOfKey(shared, key);
  // Executions of the server end with its own runtime; other executions of the given runtime continue.
  const keys = currentKeys(first, runtime, storedMs, (key) => void onRevoked(key).catch(onError));
  const own = { runtime: keys.runtime, runs: new ServerRuns(), onError };
  const driven = { ...own, served, expiry: gatewayExpiry(own), onEvent };
  const driving = drivingOf(driven, watch, options);
  const shared = { ...driven, keys, driving, atOnce: new Counts(), open: bytesByKey(), readings: new Readings() };
  const mcp = mountedMcp({
    ...shared,
    version: packageVersion(),
    decideCommand: options.decideCommand ?? (options.routes === "mcp" ? undefined : decidePath),
    patienceMs: options.patienceMs,
    approve: options.approve,
  });
  const admitted = admission(hostNames, keys.current);
  // After what may throw: until the server is closed, all figures of the process are told to them.
  const metrics = new Metrics();
  const closing = new AbortController();
  const ending = new AsyncDisposableStack();
  for (const part of [mcp, keys, metrics, webhooks, watch]) ending.use(part);
  ending.defer(() => closing.abort(new PortcullisError("runtime_closed", "The server was closed.")));
  const fetch = createApp({
    ...shared,
    ids,
    watch,
    metrics,
    closing: closing.signal,
    isReady,
    secrets: secretKeys(options.secrets),
    pauseMs,
    maxBodyBytes,
    onRequest,
    admitted,
    requests: requestsByKey(options.connections),
    mcp,
    which: options.routes,
  });
  return { fetch, token: options.keys === undefined ? token : undefined, keys, admitted, driving, ending };
}

function invalid(message: string): PortcullisError {
  return new PortcullisError("option_invalid", message);
}

function closedServer(): PortcullisError {
  return new PortcullisError("runtime_closed", "listen: this server was closed: create another one.");
}

function readKeys(place: string, keys: string | object): Keys {
  return parseKeys(place, typeof keys === "string" ? keys : JSON.stringify(keys));
}

const decidePath: DecideCommand = (execution, { callId, hold }, _, answer) => {
  const fields = { done: '"done":{"value":JSON}', allow: '"allow":true', deny: '"allow":false' };
  const decision = `{${fields[answer]}${hold > 1 ? `,"hold":${hold}` : ""}}`;
  const body = `{"decisions":{${JSON.stringify(callId)}:${decision}}}`;
  return `POST /v1/executions/${encodeURIComponent(execution)}/decisions ${body}`;
};

interface EndingParts extends Pick<DrivingParts, "runtime" | "runs" | "onEvent" | "onError"> {
  readonly keys: Pick<CurrentKeys, "now">;
  readonly driving: Pick<Driving, "ask">;
}

/**
 * Ends the executions of a key that holds no more, as far as its signal does not reach them: those that other processes drive
 * and, if no other key has its id, those that wait. A conversation that rests stays as it is: nothing of it runs, and nothing goes on with it.
 */
async function endOfKey(parts: EndingParts, { id, tenant }: Pick<Key, "id" | "tenant">): Promise<void> {
  const { runtime, runs, keys, driving, onError } = parts;
  const { journal } = runtime;
  const isGone = keys.now({ key: id }, tenant).signal.aborted;
  const asking: Promise<boolean>[] = [];
  for await (const summary of readList(journal, { open: true, tenant })) {
    const { execution } = summary;
    const { owner, parent } = (await readHeader(journal, execution, { tenant })) ?? {};
    if (owner?.key !== id || parent || runs.has(execution)) continue;
    if (isDriven(journal, summary)) asking.push(driving.ask(execution, "revoke"));
    else if (isGone)
      await end(parts, summary).catch((error: unknown) => {
        if (!isOthers(error)) onError(error);
      });
  }
  await Promise.all(asking);
}

/** It is driven by what its key may do now, which is nothing. */
async function end({ runtime, onEvent }: EndingParts, { execution, tenant, kind }: ExecutionSummary): Promise<void> {
  const options = { onEvent, approve: () => "later" as const, allowChangedTools: true };
  const handle = runtime.execution(execution, { tenant });
  if (kind === "program") await handle.resume(options);
  const { conversation } = kind === "conversation" ? await handle.status() : {};
  if (conversation) await handle.resume({ ...options, model: silent(conversation.model) });
}

/** Throws `option_invalid` for workers elsewhere without a fleet. */
function drivingOf(
  parts: DrivingParts,
  watch: JournalWatch,
  { workers, concurrency }: Pick<CheckedOptions<typeof SERVER_RULES>, "workers" | "concurrency">,
): Driving {
  const { fleet } = parts.runtime;
  if (fleet) return fleetDriving(fleet, { ...parts, watch, concurrency: workers === "here" ? concurrency : 0 });
  if (workers === "here") return localDriving(parts);
  throw invalid(
    'createServer({ workers: "elsewhere" }): the runtime belongs to no fleet, so there are no other workers: createRuntime({ fleet }).',
  );
}
