import { createRuntime, type Runtime, type RuntimeOptions } from "portcullis";
import type { ServerOptions, PortcullisServer } from "portcullis/serve";
import { createServer } from "portcullis/serve";
import { createMemorySandbox } from "portcullis/testing";
import { expect } from "vitest";
import { z } from "zod";
import { makeTool } from "../support/tools.ts";

/** Keys of two tenants. */
export const KEYS = {
  keys: [
    { id: "ann", key: "ann-0123456789abcdef", tenant: "acme", scopes: ["run", "decide", "read"] },
    { id: "ada", key: "ada-0123456789abcdef", tenant: "acme", scopes: ["read"] },
    { id: "bob", key: "bob-0123456789abcdef", tenant: "bolt", scopes: ["run", "decide", "read"] },
    { id: "ops", key: "ops-0123456789abcdef", tenant: "ops", scopes: ["admin"] },
    { id: "con", key: "con-0123456789abcdef", tenant: "acme", scopes: ["converse", "read", "decide", "run"] },
    { id: "bea", key: "bea-0123456789abcdef", tenant: "bolt", scopes: ["converse", "read", "decide", "run"] },
    { id: "old", key: "old-0123456789abcdef", tenant: "acme", expires: "2020-01-01T00:00:00Z" },
    { id: "few", key: "few-0123456789abcdef", tenant: "acme", rate: { calls: 2, perMs: 60_000 } },
    { id: "one", key: "one-0123456789abcdef", tenant: "acme", concurrency: 1, scopes: ["run", "decide"] },
    { id: "low", key: "low-0123456789abcdef", tenant: "acme", limits: { calls: 2 }, tools: ["crm.find"] },
  ],
};

/** The keys without one, and with one that is changed. */
export const keysWithout = (id: string) => ({ keys: KEYS.keys.filter((key) => key.id !== id) });
export const keysWith = (id: string, change: object) => ({
  keys: KEYS.keys.map((key) => (key.id === id ? { ...key, ...change } : key)),
});

export const keyOf = (id: string): string => `${id}-0123456789abcdef`;

export interface OpenServer extends AsyncDisposable {
  readonly server: PortcullisServer;
  readonly runtime: Runtime;
  readonly errors: unknown[];
  /** Calls of `crm.slow` wait for this. */
  readonly slow: { readonly release: () => void; readonly begun: () => Promise<void> };
  readonly ask: (method: string, path: string, options?: AskOptions) => Promise<Answer>;
  /** Asks for a program to be run. */
  readonly run: (body: unknown, key?: string) => Promise<Answer>;
  /** Decides about calls of an execution. */
  readonly decide: (id: string, decisions: object) => Promise<Answer>;
}

export interface AskOptions {
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

/** A server on a sandbox of this process, asked without a network, that tells no error that its test does not take. */
export async function openServer(
  options: ServerOptions = { keys: KEYS },
  of: Partial<RuntimeOptions> = {},
): Promise<OpenServer> {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const slow = async () => {
    begun.resolve();
    await released.promise;
    return 1;
  };
  const tools = [
    makeTool({ name: "crm.find", description: "finds", inputSchema: z.object({}), execute: () => [{ id: 1 }] }),
    makeTool({ name: "crm.slow", description: "waits", inputSchema: z.object({}), execute: slow }),
    makeTool({
      name: "bank.pay",
      description: "pays",
      inputSchema: z.object({ amount: z.number() }),
      effect: "write",
      approval: "always",
      execute: ({ amount }) => ({ paid: amount }),
    }),
    makeTool({
      name: "desk.ask",
      description: "asks a person",
      inputSchema: z.object({}),
      outputSchema: z.object({ said: z.string() }),
      execute: "client",
    }),
  ];
  const runtime = await createRuntime({ tools, sandbox: createMemorySandbox(), approve: () => "later", ...of });
  const errors: unknown[] = [];
  const server = await createServer(runtime, { ...options, onError: (error) => errors.push(error) });
  return {
    server,
    runtime,
    errors,
    slow: { release: () => released.resolve(), begun: () => begun.promise },
    ask: (method, path, asked) => ask(server, method, path, asked),
    run: (body, key) => ask(server, "POST", "/v1/executions", { body, key }),
    decide: (id, decisions) => ask(server, "POST", `/v1/executions/${id}/decisions`, { body: { decisions } }),
    async [Symbol.asyncDispose]() {
      released.resolve();
      await server.close({ drainMs: 0 });
      await runtime[Symbol.asyncDispose]();
      expect(errors).toEqual([]);
    },
  };
}

export async function ask(
  { fetch }: Pick<PortcullisServer, "fetch">,
  method: string,
  path: string,
  { key = keyOf("ann"), body, headers = {} }: AskOptions = {},
): Promise<Answer> {
  const request = new Request(`http://localhost${path}`, {
    method,
    headers: {
      ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const response = await fetch(request);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
