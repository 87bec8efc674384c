import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { doorArgs } from "./doors.ts";

/** Programs are not checked there: what the gate says of wrong calls is tested. */
const DOOR_ENV = { PORTCULLIS_TSC: "" };

/** Where a client connects to: a door over HTTP, or the arguments of one that it starts. */
export type Address = { readonly url: string; readonly token: string } | { readonly args: readonly string[] };

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { readonly progress: number; readonly message?: string | undefined }) => void;
}

export interface CallResult {
  readonly text: string;
  readonly isError: boolean;
  readonly links: readonly string[];
}

/** What the tests need of a client, of whatever version. */
export interface TestClient extends AsyncDisposable {
  readonly version: string | undefined;
  readonly instructions: string | undefined;
  readonly list: () => Promise<readonly string[]>;
  readonly call: (name: string, args?: object, options?: CallOptions) => Promise<CallResult>;
  readonly read: (uri: string) => Promise<string>;
}

/** Answers a question of the server; a client without it cannot be asked. */
export type Answer = (message: string) => { action: "accept" | "decline"; content?: Record<string, boolean> };

export type Connect = (address: Address, answer?: Answer) => Promise<TestClient>;

const headersOf = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });
const capabilitiesOf = (answer: Answer | undefined) => (answer ? { elicitation: {} } : {});
const info = { name: "test", version: "1.0.0" };

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly uri?: string;
}

function resultOf({
  content,
  isError,
}: {
  readonly content: readonly object[];
  readonly isError?: boolean | undefined;
}): CallResult {
  const blocks = content as readonly Block[];
  return {
    text: blocks.map(({ text = "" }) => text).join(""),
    isError: isError ?? false,
    links: blocks.flatMap(({ type, uri = "" }) => (type === "resource_link" ? [uri] : [])),
  };
}

const textOf = ({ contents }: { readonly contents: readonly object[] }) =>
  (contents as readonly Block[])[0]?.text ?? "";

/** Longer than the tests, so that no client gives up by itself. */
const TIMEOUT_MS = 120_000;

const stdioOf = (args: readonly string[]) =>
  ({ command: process.execPath, args: doorArgs(...args), env: DOOR_ENV, stderr: "ignore" }) as const;

/** What both versions have. */
const testClient = (
  client: ClientV1 | ClientV2,
  version: string | undefined,
  call: (params: { name: string; arguments: Record<string, unknown> }, options: object) => Promise<unknown>,
): TestClient => ({
  version,
  instructions: client.getInstructions(),
  list: async () => (await client.listTools()).tools.map(({ name }) => name),
  call: async (name, args = {}, options = {}) =>
    resultOf((await call({ name, arguments: { ...args } }, { timeout: TIMEOUT_MS, ...options })) as never),
  read: async (uri) => textOf(await client.readResource({ uri })),
  [Symbol.asyncDispose]: () => client.close(),
});

const connectV1: Connect = async (address, answer) => {
  const client = new ClientV1(info, { capabilities: capabilitiesOf(answer) });
  if (answer) client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message));
  const isHttp = "url" in address;
  const transport = isHttp
    ? new HttpV1(new URL(address.url), headersOf(address.token))
    : new StdioV1(stdioOf(address.args));
  let version: string | undefined;
  Object.assign(transport, { setProtocolVersion: (one: string) => void (version = one) });
  await client.connect(transport);
  return testClient(client, version, async (params, options) =>
    CallToolResultSchema.parse(await client.callTool(params, CallToolResultSchema, options)),
  );
};

const connectV2 =
  (mode: "legacy" | "auto" | { readonly pin: string }): Connect =>
  async (address, answer) => {
    const client = new ClientV2(info, { versionNegotiation: { mode }, capabilities: capabilitiesOf(answer) });
    if (answer) client.setRequestHandler("elicitation/create", ({ params }) => answer(params.message) as never);
    const isHttp = "url" in address;
    await client.connect(
      isHttp ? new HttpV2(new URL(address.url), headersOf(address.token)) : new StdioV2(stdioOf(address.args)),
    );
    const version = client.getNegotiatedProtocolVersion();
    return testClient(client, version, (params, options) => client.callTool(params, options));
  };

export const CLIENTS = [
  { client: "version 1 of the SDK", connect: connectV1, version: "2025-11-25" },
  { client: "version 2, legacy", connect: connectV2("legacy"), version: "2025-11-25" },
  { client: "version 2, auto", connect: connectV2("auto"), version: "2026-07-28" },
  { client: "version 2, pinned", connect: connectV2({ pin: "2026-07-28" }), version: "2026-07-28" },
] as const;

/** One client of each protocol. */
export const USUAL_CLIENTS = [CLIENTS[0], CLIENTS[2]] as const;
