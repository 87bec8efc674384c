import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { createRuntime, type RuntimeOptions } from "portcullis";
import type { Model } from "portcullis/models";
import { createMemoryJournal, type Journal } from "portcullis/journal";
import { createServer, type PortcullisServer, type ServerOptions } from "portcullis/serve";
import { createMemorySandbox, scriptedModel, type ScriptedStep } from "portcullis/testing";
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

export const SECRET = "a secret of more than thirty-two characters";

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

/** A server whose gateway is asked without a network. A script is the model `scripted:m`. */
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
    errors.push(...gateway.errors);
    return new Response(text, { status, headers });
  }) as typeof globalThis.fetch;
  return { ...clientsOf(fetch), errors, starts: () => starts };
}
