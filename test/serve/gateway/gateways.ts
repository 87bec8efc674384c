import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { createRuntime, type RuntimeOptions } from "portcullis";
import type { Model } from "portcullis/models";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import { createServer, type PortcullisServer, type ServerOptions } from "portcullis/serve";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "portcullis/testing";
import { expect } from "vitest";
import { z } from "zod";
import { tool } from "../../support/tools.ts";

/** Keys of two tenants, and two of one. */
export const GATEWAY_KEYS = {
  keys: [
    { id: "con", key: "con-0123456789abcdef", tenant: "acme", scopes: ["converse"] },
    { id: "cat", key: "cat-0123456789abcdef", tenant: "acme", scopes: ["converse"] },
    { id: "bea", key: "bea-0123456789abcdef", tenant: "bolt", scopes: ["converse"] },
    { id: "run", key: "run-0123456789abcdef", tenant: "acme", scopes: ["run", "read", "decide"] },
  ],
};

const SECRET = "a secret of more than thirty-two characters";

/** Anthropic's tool that runs programs. */
export const PROGRAMS = { type: "code_execution_20260120" as const, name: "code_execution" as const };
type Caller = "direct" | typeof PROGRAMS.type;
const ID = { type: "object" as const, properties: { id: { type: "number" } }, required: ["id"] };

/** A client's tool that takes a number, as each wire declares it; by default only programs may call it. */
export const messageTool = (name: string, allowed_callers: Caller[] = [PROGRAMS.type]) => ({
  name,
  description: `Units of ${name}.`,
  input_schema: ID,
  allowed_callers,
});
export const functionTool = (name: string, allowed_callers: readonly string[] = ["programmatic"]) =>
  ({
    type: "function",
    name,
    description: `Units of ${name}.`,
    parameters: { ...ID, additionalProperties: false },
    strict: true,
    allowed_callers,
  }) as unknown as OpenAI.Responses.Tool;
export const RESPONSES_PROGRAMS = { type: "programmatic_tool_calling" } as unknown as OpenAI.Responses.Tool;

/** What runs programs, and a tool of the client for them and for the model, as each wire declares both. */
export const MESSAGES_TOOLS = [PROGRAMS, messageTool("depot", ["direct", PROGRAMS.type])];
export const RESPONSES_TOOLS = [RESPONSES_PROGRAMS, functionTool("depot", ["direct", "programmatic"])];

/** Asks for two numbers at once, and adds them. */
export const SUM = `const [a, b] = await Promise.all([tools.depot({ id: 1 }), tools.depot({ id: 2 })]);
return a.n + b.n;`;

type Block = Anthropic.ContentBlock;

export const callsIn = (content: readonly Block[]) =>
  content.flatMap((block) => (block.type === "tool_use" ? [block] : []));

/** The messages after one with calls, each of which has this result, or that of its place. */
export function answered(
  history: readonly Anthropic.MessageParam[],
  { content }: { readonly content: readonly Block[] },
  result: string | ((place: number) => string) = '{"n":4}',
): Anthropic.MessageParam[] {
  const results = callsIn(content).map(({ id }, place) => ({
    type: "tool_result" as const,
    tool_use_id: id,
    content: typeof result === "string" ? result : result(place),
  }));
  const said = { role: "assistant" as const, content: content as Anthropic.ContentBlockParam[] };
  return [...history, said, { role: "user", content: results }];
}

/** The outputs of a response's calls, with their callers. */
export function outputsOf({ output }: OpenAI.Responses.Response, result = '{"n":4}') {
  return output.flatMap((item) => {
    const { type, call_id, caller } = item as { readonly type: string; call_id?: string; caller?: unknown };
    return /^(function|custom_tool)_call$/.test(type)
      ? [{ type: `${type}_output`, call_id, output: result, caller }]
      : [];
  }) as unknown as OpenAI.Responses.ResponseInputItem[];
}

export interface Posted {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

/** How a body is sent by a client of no package. */
export interface Sending {
  readonly key?: string;
  readonly headers?: object;
  readonly path?: string;
  readonly signal?: AbortSignal;
}

/** A body as it stands, whose answer is not read. */
export function send(
  { fetch }: Pick<GatewayClients, "fetch">,
  body: unknown,
  sending: Sending = {},
): Promise<Response> {
  const { key = "con", headers = {}, path = "/v1/messages", signal = null } = sending;
  const secret = `${key}-0123456789abcdef`;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return fetch(`http://localhost${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(text)),
      "anthropic-version": "2023-06-01",
      ...(path.startsWith("/v1/messages") ? { "x-api-key": secret } : { authorization: `Bearer ${secret}` }),
      ...headers,
    },
    body: text,
    signal,
  });
}

export async function post(...given: Parameters<typeof send>): Promise<Posted> {
  const response = await send(...given);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: text.startsWith("{") && JSON.parse(text) };
}

/** How an answer comes to the official clients. */
export const WAYS = [
  ["whole", false],
  ["streamed", true],
] as const;

/** Asks by OpenAI's client, for whole answers or by streams. */
export function responding({ openai }: GatewayClients, isStreamed = false, more: object = {}) {
  const { responses } = openai();
  return (body: object): Promise<OpenAI.Responses.Response> => {
    const whole = { model: "m", ...more, ...body };
    return isStreamed ? responses.stream(whole).finalResponse() : responses.create({ ...whole, stream: false });
  };
}

/** What asks a gateway without a network. */
export interface GatewayClients {
  /** As a client's `fetch`, with the key of its own. */
  readonly fetch: typeof globalThis.fetch;
  readonly anthropic: (key?: string) => Anthropic;
  readonly openai: (key?: string) => OpenAI;
}

export interface OpenGateway extends GatewayClients, AsyncDisposable {
  readonly server: PortcullisServer;
  readonly journal: Journal;
  readonly errors: unknown[];
}

export interface GatewayOptions extends Partial<ServerOptions> {
  readonly journal?: Journal;
  readonly runtime?: Partial<RuntimeOptions>;
}

/** A server whose gateway is asked without a network, and that tells no error that its test does not take. A script is the model `scripted:m`. */
export async function openGateway(
  upstream: readonly ScriptedStep[] | Model,
  { journal = createMemoryJournal(), runtime: of, ...options }: GatewayOptions = {},
): Promise<OpenGateway> {
  const model = "converse" in upstream ? upstream : scriptedModel(upstream, { name: "scripted:m" });
  // It says nothing of a client's tool of the same name.
  const own = tool("depot", () => "", { outputSchema: z.object({ secret: z.string() }) });
  const runtime = await createRuntime({ tools: [own], sandbox: createMemorySandbox(), journal, ...of });
  const errors: unknown[] = [];
  const server = await createServer(runtime, {
    model,
    keys: GATEWAY_KEYS,
    secrets: [SECRET],
    onError: (error) => errors.push(error),
    ...options,
  });
  const fetch = ((input: string | URL | Request, init?: RequestInit) =>
    server.fetch(new Request(input, init))) as typeof globalThis.fetch;
  return {
    server,
    journal,
    errors,
    ...clientsOf(fetch),
    async [Symbol.asyncDispose]() {
      await server.close({ drainMs: 0 });
      await runtime[Symbol.asyncDispose]();
      expect(errors).toEqual([]);
    },
  };
}

/** The official clients, whose requests a function answers. */
export function clientsOf(fetch: typeof globalThis.fetch): GatewayClients {
  return {
    fetch,
    anthropic: (key = "con") =>
      new Anthropic({
        baseURL: "http://localhost",
        apiKey: `${key}-0123456789abcdef`,
        authToken: null,
        fetch,
        maxRetries: 0,
      }),
    openai: (key = "con") =>
      new OpenAI({ baseURL: "http://localhost/v1", apiKey: `${key}-0123456789abcdef`, fetch, maxRetries: 0 }),
  };
}

/** A gateway that is closed after each answer, and opened anew on the same journal for the next request. */
export function restartedGateway(
  upstream: () => Model,
): GatewayClients & { readonly errors: readonly unknown[]; readonly starts: () => number } {
  const journal = createMemoryJournal();
  const errors: unknown[] = [];
  let starts = 0;
  const fetch = (async (...asked: Parameters<typeof globalThis.fetch>) => {
    starts += 1;
    await using gateway = await openGateway(upstream(), { journal });
    const answer = await gateway.fetch(...asked);
    const { status, headers } = answer;
    const text = await answer.text();
    errors.push(...gateway.errors.splice(0));
    return new Response(text, { status, headers });
  }) as typeof globalThis.fetch;
  return { ...clientsOf(fetch), errors, starts: () => starts };
}
