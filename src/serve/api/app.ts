import { Hono } from "hono";
import { monotonic, now, packageVersion, untilAborted, ignore } from "../../base/index.ts";
import type { AnsweredRequest } from "../server-options.ts";
import { withTraceparent } from "../../gate/telemetry/index.ts";
import type { MountedMcp } from "../mcp/http/mounted-mcp.ts";
import { apiExtras, mcpRoute, type OtherRoute, type RefusalForm } from "../other-routes.ts";
import type { GatewayParts } from "../gateway/gateway-parts.ts";
import { gatewayRoutes, vendorsForm } from "../gateway/gateway-routes.ts";
import { type RequestAdmission, admit } from "../http/admit.ts";
import type { Key, RouteScope } from "../http/keys.ts";
import { isOperators, problemOf, problemResponse, RequestProblem } from "../http/problems.ts";
import type { BytesByKey } from "../http/bytes-by-key.ts";
import { countedAnswer, isStream } from "../http/counted-answer.ts";
import { whenOver } from "../http/when-over.ts";
import { readJsonBody } from "../http/read-json.ts";
import { check, CLIENT_ID_LENGTH, NO_QUERY } from "./bodies.ts";
import { openApiDocument, pathOf } from "./openapi.ts";
import { refuseRevoked } from "./parts.ts";
import { type Route, ROUTES } from "./routes.ts";

export interface AppParts extends GatewayParts {
  /** Told of each request once there is an answer. It does not throw. */
  readonly onRequest: (request: AnsweredRequest) => void;
  readonly admitted: RequestAdmission;
  /** The requests of keys, until their answers are there and their streams are over. */
  readonly requests: BytesByKey;
  readonly mcp: MountedMcp;
  /** Whether the path of MCP is the only one. */
  readonly which: "all" | "mcp" | "operator";
}

/** Headers of every answer that does not set its own: a browser shows nothing of it, loads nothing for it, and keeps nothing. */
const HEADERS = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

/** A request on its way to its answer, with what becomes known of it. */
interface Asked extends RefusalForm {
  readonly request: Request;
  /** As hono writes it. */
  readonly path: string;
  key?: Key;
  /** Aborted once its key holds no more; missing until the key is known, and for a route that needs none. */
  held?: AbortSignal;
  /** Counts it no more among the requests of its key; missing as long as it is not counted. */
  over?: (() => void) | undefined;
  /** The execution that it is about, as its client writes it. */
  execution?: string | undefined;
}

/** The server as a web-standard function: each request is admitted, checked against its route, and handled. It never rejects. */
export function createApp(parts: AppParts): (request: Request) => Promise<Response> {
  const { which } = parts;
  const served = servedBy(parts);
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    const { headers } = context.res;
    for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value);
  });
  for (const one of served)
    app.on([...one.methods], one.path, (context) => {
      const named: PathParameters = context.req.param();
      const request = context.req.raw;
      const asked: Asked = { request, path: one.path, execution: named.id, ...one.form?.(request) };
      return answered(parts, asked, async () => {
        const key = keyOf(parts, one.scope, asked);
        return whileHeld(asked, async () => one.handle(request, key, asked, named));
      });
    });
  for (const [path, all] of Map.groupBy(served, (one) => one.path)) {
    const allow = all.flatMap(({ methods }) => methods).join(", ");
    const problem = () => new RequestProblem("method_unknown", `This path takes ${allow}.`, { allow });
    app.all(path, ({ req: { raw: request } }) => refuse(parts, { request, path, ...all[0]?.form?.(request) }, problem));
  }
  const nothingHere = () => new RequestProblem("path_unknown", `There is no such path. ${PATHS_AT[which]}`);
  app.notFound((context) => {
    const request = context.req.raw;
    const form = which === "all" ? vendorsForm(request) : {};
    return refuse(parts, { request, path: UNKNOWN, ...form }, nothingHere);
  });
  const fetch = async (request: Request) => {
    try {
      if (request.method !== "HEAD") return await app.fetch(request);
      // The body of the answer is not only left out, but ended: it may hold a stream.
      const response = await app.fetch(new Request(request, { method: "GET" }));
      await response.body?.cancel();
      return new Response(null, response);
    } catch (error) {
      parts.onError(error);
      return problemResponse(problemOf(error));
    }
  };
  return (request) => withTraceparent(request.headers, () => fetch(request));
}

/** Paths for the operator of the process. */
const OPERATOR_PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics"]);

const PATHS_AT = {
  all: "GET /openapi.json lists the paths.",
  mcp: "MCP is at /mcp.",
  operator: `There are ${[...OPERATOR_PATHS].join(", ")}.`,
} as const;

/** A path that is served. */
interface Served extends Omit<OtherRoute, "handle"> {
  readonly handle: (request: Request, key: Key, asked: Asked, named: PathParameters) => Response | Promise<Response>;
}

function servedBy(parts: AppParts): readonly Served[] {
  const { which, mcp } = parts;
  const lines = ROUTES.filter(({ path }) => which === "all" || (which === "operator" && OPERATOR_PATHS.has(path)));
  const document = () => openApiDocument(packageVersion());
  return [
    lines.map(({ path, method, ...line }): Served => ({
      path,
      methods: [method],
      scope: line.scope,
      // The list of models is the vendors' too.
      form: path === "/v1/models" ? vendorsForm : undefined,
      handle: (_, key, asked, named) => serve(parts, line, { asked, key }, named),
    })),
    which === "all" ? [...apiExtras(document), ...gatewayRoutes(parts)] : [],
    which === "operator" ? [] : mcpRoute(mcp),
  ].flat();
}

/** The path of a request to an unknown path. */
const UNKNOWN = "(unknown)";

/** Refuses a request that has a valid key: others do not learn which paths exist. */
function refuse(parts: AppParts, asked: Asked, problem: () => RequestProblem): Promise<Response> {
  return answered(parts, asked, () => {
    keyOf(parts, "any", asked);
    throw problem();
  });
}

/** Answers a request, with a problem if its work throws, counts it, and tells of it. */
async function answered(
  { metrics, open, onRequest, onError }: AppParts,
  asked: Asked,
  work: () => Response | Promise<Response>,
): Promise<Response> {
  const { path, request } = asked;
  const { method } = request;
  const [at, since] = [now(), monotonic()];
  // Every answer to a key counts until it was read. Streams count what they hold, or read only as fast as their client does.
  const counted = async () => {
    const response = await work();
    return asked.key && !isStream(response) ? countedAnswer(response, { open, key: asked.key }) : response;
  };
  let code: string | undefined;
  const answer = await counted().catch((error: unknown) => {
    const problem = problemOf(error);
    if (isOperators(problem)) onError(error);
    code = problem.code;
    return (asked.refuse ?? problemResponse)(problem);
  });
  const response = untilOver(asked, answer);
  const { status } = response;
  const ms = monotonic() - since;
  metrics.request(path, method, status, ms);
  const about = {
    key: asked.key?.id,
    tenant: asked.key?.tenant,
    execution: asked.execution?.slice(0, CLIENT_ID_LENGTH),
  };
  onRequest({ at, method, path: pathOf(path), status, code, ms, ...about });
  return response;
}

/** A stream keeps its connection. What is there as a whole does not, however slowly it is read: then it counts as bytes. */
function untilOver({ over = () => {} }: Asked, response: Response): Response {
  if (isStream(response)) return whenOver(response, over);
  over();
  return response;
}

/** The key of a request that is let in. It is noted as soon as it is known, also for a request that is refused. */
function keyOf({ admitted, keys, requests }: AppParts, scope: RouteScope, asked: Asked): Key {
  const onKey = (requestKey: Key) => void (asked.key = requestKey);
  const key = admit(admitted, asked.request, { scope, keyHeader: asked.keyHeader }, onKey);
  if (scope === "none") return key;
  // A request that only waits holds a connection and memory too, so that one key could take all that there are.
  asked.over = requests.begin(key, 0);
  if (!asked.over)
    throw new RequestProblem(
      "too_many_at_once",
      "This key has too many open requests: wait for their answers or end some, then try again.",
      // Otherwise the connection would be kept for the next request.
      { connection: "close" },
    );
  asked.held = keys.signalOf(key);
  return key;
}

/** The answer, or the reason for which its key holds no more: an answer that comes later is dropped. */
async function whileHeld({ held }: Asked, work: () => Promise<Response>): Promise<Response> {
  if (!held) return work();
  const answer = work();
  try {
    return await untilAborted(answer, held);
  } catch (error) {
    answer.then((late) => late.body?.cancel()).catch(ignore);
    throw error;
  }
}

type PathParameters = Partial<Record<"id" | "call" | "name", string>>;

async function serve(
  parts: AppParts,
  line: Omit<Route, "path" | "method">,
  { asked, key }: { readonly asked: Asked; readonly key: Key },
  { id = "", call = "", name = "" }: PathParameters,
): Promise<Response> {
  const { request, held } = asked;
  if (line.body && !parts.isReady())
    throw new RequestProblem("server_closing", "The server is closing. The request changed nothing. Try again later.");
  const query = check(line.query ?? NO_QUERY, "query", queryOf(request)) as never;
  const { headers } = request;
  const signal = held ? AbortSignal.any([request.signal, held]) : request.signal;
  const about = (execution: string) => void (asked.execution = execution);
  const uses: Promise<unknown>[] = [];
  const holdBody = (until: Promise<unknown>) => void uses.push(until);
  const inTurn = <Value>(read: () => Value | Promise<Value>) => parts.readings.run(key.id, signal, read);
  const handleOf = (execution: string) => parts.runtime.execution(execution, { tenant: key.tenant });
  const apiRequest = { ...parts, key, id, call, name, headers, signal, query, about, holdBody, inTurn, handleOf };
  if (line.body === undefined) return line.handle({ ...apiRequest, body: undefined as never });
  const hold = (bytes: number) => parts.open.hold(key, bytes, "wait for their answers");
  const reader = { tenant: key.tenant, signal, hold };
  const { value, bytes } = await readJsonBody(request, { most: parts.maxBodyBytes, reader });
  // Reading a body may take time, and keys change meanwhile.
  refuseRevoked(apiRequest);
  const over = hold(bytes);
  try {
    const body = check(line.body, "body", value) as never;
    return await line.handle({ ...apiRequest, body });
  } finally {
    if (uses.length === 0) over();
    else void Promise.allSettled(uses).then(over);
  }
}

/** A parameter that is given twice is refused with its name, as an unknown parameter is. */
function queryOf(request: Request): Readonly<Record<string, string>> {
  const params = [...new URL(request.url).searchParams];
  if (new Set(params.map(([name]) => name)).size < params.length)
    throw new RequestProblem("request_invalid", "query: a parameter is given twice.");
  return Object.fromEntries(params);
}
