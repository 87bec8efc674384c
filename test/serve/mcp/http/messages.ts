import { keyOf, type OpenServer } from "../../servers.ts";

export const ACCEPT = "application/json, text/event-stream";

/** The message that begins a session. What the client says of itself has so many characters more. */
export const initialize = (protocolVersion = "2025-11-25", capabilities: object = {}) => ({
  method: "initialize",
  params: { protocolVersion, capabilities, clientInfo: { name: "raw", version: "1" } },
});

let ids = 1;

/** A message of protocol 2026-07-28, which has no sessions, with its headers. */
export function sessionless(method: string, params: Readonly<Record<string, unknown>> = {}, capabilities: object = {}) {
  const about = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": capabilities,
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1" },
  };
  const named: Record<string, string> = "name" in params ? { "mcp-name": String(params["name"]) } : {};
  return {
    body: { jsonrpc: "2.0", id: (ids += 1), method, params: { _meta: about, ...params } },
    headers: { accept: ACCEPT, "mcp-protocol-version": "2026-07-28", "mcp-method": method, ...named },
  };
}

/** Begins a session, and gives its id. */
export async function openSession(
  door: Pick<OpenServer, "server">,
  { key = "ann", version = "2025-06-18", capabilities = {} } = {},
): Promise<string> {
  const opened = await send(door, initialize(version, capabilities), { key });
  const session = opened.headers.get("mcp-session-id") ?? "";
  await opened.text();
  const begun = { id: undefined, method: "notifications/initialized" };
  await (await send(door, begun, { key, session, version })).text();
  return session;
}

export interface Sent {
  readonly key?: string;
  readonly method?: string;
  readonly session?: string | undefined;
  readonly version?: string;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One message as it stands on the wire, of which the answer is not read. */
export function send(
  { server }: Pick<OpenServer, "server">,
  message: object | undefined,
  { key = "ann", method = "POST", session, version = "2025-11-25", signal, headers }: Sent = {},
): Promise<Response> {
  const text = message && JSON.stringify({ jsonrpc: "2.0", id: (ids += 1), ...message });
  return server.fetch(
    new Request("http://localhost/mcp", {
      method,
      signal,
      headers: {
        authorization: `Bearer ${keyOf(key)}`,
        "content-type": "application/json",
        accept: ACCEPT,
        // A body without a length counts as the largest one.
        ...(text && { "content-length": String(Buffer.byteLength(text)) }),
        ...(session === undefined ? {} : { "mcp-session-id": session, "mcp-protocol-version": version }),
        ...headers,
      },
      body: text,
    }),
  );
}
