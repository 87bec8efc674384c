import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createRuntime,
  fromOpenApi,
  type OpenApiOptions,
  type OpenApiPolicies,
  type Tool,
} from "../../../src/index.ts";
import type { Journal } from "../../../src/journal/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";

/** A request as it arrived. */
export interface Arrived {
  readonly method: string;
  /** With its query, as it was sent. */
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export interface ApiServer extends AsyncDisposable {
  readonly baseUrl: string;
  readonly port: number;
  readonly arrived: Arrived[];
}

type Answer = (request: Arrived, response: ServerResponse) => void;

/** A server on this machine that records what arrives. Answers `{"ok":true}` by default. */
export async function startServer(
  answer: Answer = (_, response) => sendJson(response, { ok: true }),
): Promise<ApiServer> {
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks) };
      arrived.push(one);
      answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    port,
    arrived,
    [Symbol.asyncDispose]: () => closed(server),
  };
}

function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

export function sendJson(
  response: ServerResponse,
  value: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
}

/** A document of OpenAPI 3.1 with these paths. */
export const specOf = (paths: object, more: object = {}): object => ({
  openapi: "3.1.0",
  info: { title: "test", version: "1" },
  paths,
  ...more,
});

/** A document with one operation, `call`. */
export const operationOf = (operation: object, path = "/x", method = "get", more: object = {}): object =>
  specOf({ [path]: { [method]: { operationId: "call", ...operation } } }, more);

/** Parts of an operation whose body, or whose answer, is JSON of this schema. */
export const jsonOf = (schema: unknown) => ({ content: { "application/json": { schema } } });
export const bodyOf = (schema: unknown) => ({ requestBody: { required: true, ...jsonOf(schema) } });
export const answerOf = (schema: unknown) => ({ responses: { 200: jsonOf(schema) } });

/** A document with one operation, `call`, that takes a body of this schema. */
export const posting = (schema: unknown, more: object = {}): object => operationOf(bodyOf(schema), "/x", "post", more);

export const ALL = { allowedCallers: ["direct", "programmatic"] } as const;

/** A source named `api` with tools for all callers. */
export const sourceOf = (
  spec: object | string,
  options: Partial<OpenApiOptions> = {},
  policies: OpenApiPolicies = ALL,
) => fromOpenApi({ name: "api", spec, baseUrl: "http://127.0.0.1:9", ...options }, policies);

type ServedOptions = Partial<OpenApiOptions> & { readonly policies?: OpenApiPolicies };

/** A server, and the source `api` of it; `call` makes a call of its tool `call`. */
export async function served(
  spec: object | string,
  answer: Answer | ServedOptions = {},
  { policies, ...options }: ServedOptions = typeof answer === "function" ? {} : answer,
) {
  const server = await startServer(typeof answer === "function" ? answer : undefined);
  const { tools, problems } = await sourceOf(spec, { baseUrl: server.baseUrl, ...options }, policies);
  const call = (input: object, more?: CallOptions) => callTool(tools, "api.call", input, more);
  return { ...server, tools, problems, call };
}

const sandbox = createMemorySandbox();

interface CallOptions {
  readonly journal?: Journal;
  readonly resultBytes?: number;
  readonly errors?: unknown[];
  readonly signal?: AbortSignal;
}

/** Calls a tool through the gate. */
export async function callTool(
  tools: readonly Tool[],
  tool: string,
  input: object,
  { journal, resultBytes, errors, signal }: CallOptions = {},
) {
  const logger = { error: (entry: unknown) => errors?.push(entry) };
  await using runtime = await createRuntime({ tools, sandbox, logger, journal, limits: { resultBytes } });
  return await runtime.call({ tool, input, caller: "direct", gather: true, signal });
}
