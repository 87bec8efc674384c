import { Hono } from "hono";
import { type AdmitParts, admit, refuseForeign } from "../http/admit.ts";
import type { Key } from "../http/keys.ts";
import { isOperators, type Problem, problemOf, problemResponse, RequestProblem } from "../http/problems.ts";
import { declaredBytes, readJson } from "../http/read-json.ts";
import { check } from "./bodies.ts";
import type { ApiParts } from "./parts.ts";
import { ROUTES, type Route } from "./routes.ts";

/** A path that is no line of the table: the page, the MCP door, the document. */
export interface OtherRoute {
  /** As hono writes it. */
  readonly path: string;
  readonly methods: readonly string[];
  /** Whether it is for all, without a key. */
  readonly isOpen: boolean;
  readonly handle: (request: Request, key: Key) => Response | Promise<Response>;
}

export interface AppParts extends ApiParts {
  readonly admitted: AdmitParts;
  readonly maxBodyBytes: number;
  readonly others: readonly OtherRoute[];
}

/** Of every answer that does not say otherwise: nothing of it is shown by a browser, loads anything, or is kept. */
const HEADERS = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};

const OPEN_KEY: Key = { id: "", tenant: "", digest: Buffer.alloc(0), scopes: [] };

/** The door as a web-standard function: each request is let in, checked by the line of its route, and handled. It never rejects. */
export function createApp(parts: AppParts): (request: Request) => Promise<Response> {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    const { headers } = context.res;
    for (const [name, value] of Object.entries(HEADERS)) if (!headers.has(name)) headers.set(name, value);
  });
  for (const line of ROUTES)
    app.on(line.method, line.path, (context) =>
      answered(parts, context.req.raw, line, () => serve(parts, line, context.req.raw, context.req.param())),
    );
  for (const other of parts.others)
    app.on([...other.methods], other.path, (context) =>
      answered(parts, context.req.raw, other, async () =>
        other.handle(context.req.raw, keyOf(parts, other, context.req.raw)),
      ),
    );
  const methods = Map.groupBy(
    [
      ...ROUTES.map(({ path, method }) => ({ path, method })),
      ...parts.others.flatMap(({ path, methods: all }) => all.map((method) => ({ path, method }))),
    ],
    ({ path }) => path,
  );
  for (const [path, all] of methods) {
    const allow = all.map(({ method }) => method).join(", ");
    app.all(path, (context) =>
      answered(parts, context.req.raw, { path }, () => {
        keyOf(parts, { isOpen: false }, context.req.raw);
        return refused({ code: "method_unknown", message: `This path takes ${allow}.`, headers: { allow } });
      }),
    );
  }
  app.notFound((context) =>
    answered(parts, context.req.raw, { path: "(unknown)" }, () => {
      keyOf(parts, { isOpen: false }, context.req.raw);
      return refused({
        code: "path_unknown",
        message: "There is nothing at this path. GET /openapi.json tells what there is.",
      });
    }),
  );
  return async (request) => {
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
}

function refused(problem: Problem): Response {
  return problemResponse(problem);
}

/** Answers a request, with a problem where its work throws, and counts it. */
async function answered(
  { metrics, onError }: AppParts,
  { method }: Request,
  { path }: { readonly path: string },
  work: () => Response | Promise<Response>,
): Promise<Response> {
  const since = performance.now();
  const response = await toResponse(work, onError);
  metrics.request(path, method, response.status, performance.now() - since);
  return response;
}

async function toResponse(
  work: () => Response | Promise<Response>,
  onError: (error: unknown) => void,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refusal) return problemResponse(error.refused);
    const problem = problemOf(error);
    if (isOperators(problem)) onError(error);
    return problemResponse(problem);
  }
}

/** Ends the work on a request that is not let in. */
class Refusal extends Error {
  readonly refused: Problem;

  constructor(refused: Problem) {
    super(refused.message);
    this.refused = refused;
  }
}

/** The key of a request. Throws for one that is not let in. */
function keyOf({ admitted }: AppParts, { isOpen }: { readonly isOpen: boolean }, { headers, url }: Request): Key {
  // A server of others may have read it already.
  const host = headers.get("host") ?? new URL(url).host;
  const admittance = isOpen ? (refuseForeign(admitted, headers, host) ?? OPEN_KEY) : admit(admitted, headers, host);
  if ("code" in admittance) throw new Refusal(admittance);
  return admittance;
}

/** What the path of a route names. */
interface PathParameters {
  readonly id?: string;
  readonly call?: string;
}

async function serve(
  parts: AppParts,
  line: Route,
  request: Request,
  { id = "", call = "" }: PathParameters,
): Promise<Response> {
  const key = keyOf(parts, { isOpen: line.scope === "none" }, request);
  refuseScope(line, key);
  if (line.changes && !parts.isReady())
    throw new RequestProblem("server_closing", "The server is closing. Nothing was begun or noted. Try again later.");
  const query = check(line.query, "query", queryOf(request)) as never;
  const { headers } = request;
  if (line.body === undefined) return line.handle(parts, { key, id, call, headers, query, body: undefined });
  const reading = begin(parts, key, declaredBytes(request, parts.maxBodyBytes));
  const { value, bytes } = await readJson(request, parts.maxBodyBytes).finally(reading);
  // A body may take its time, and keys change.
  refuseRevoked(parts, key);
  const over = begin(parts, key, bytes);
  try {
    const body = check(line.body, "body", value) as never;
    return await line.handle(parts, { key, id, call, headers, query, body });
  } finally {
    over();
  }
}

/** Counts bytes that a request holds until the function that it returns is called. */
function begin({ open }: AppParts, { id }: Key, bytes: number): () => void {
  const over = open.begin(id, bytes);
  if (over) return over;
  throw new RequestProblem(
    "too_many_at_once",
    "This key has too much under way: wait for its answers, then try again.",
  );
}

function refuseRevoked({ isCurrent }: AppParts, key: Key): void {
  if (!isCurrent(key))
    throw new RequestProblem("key_unknown", "This key was changed or revoked during the request. Nothing was begun.");
}

function refuseScope({ scope }: Route, { scopes }: Key): void {
  if (scope === "none" || scope === "any" || scopes.includes(scope)) return;
  throw new RequestProblem("scope_missing", `This key may not do that: it has no scope ${scope}.`);
}

/** A parameter that is given twice is refused with its name, as an unknown one is. */
function queryOf(request: Request): Readonly<Record<string, string>> {
  const query: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [name, value] of new URL(request.url).searchParams) {
    if (name in query) throw new RequestProblem("request_invalid", "query: a parameter is given twice.");
    query[name] = value;
  }
  return query;
}
