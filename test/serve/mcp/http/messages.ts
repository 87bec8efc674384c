import { keyOf, type OpenServer } from "../../servers.ts";

/** The message that begins a session. What the client says of itself has so many characters more. */
export const initialize = (protocolVersion = "2025-11-25", capabilities: object = {}) => ({
  method: "initialize",
  params: { protocolVersion, capabilities, clientInfo: { name: "raw", version: "1" } },
});

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
  return server.fetch(
    new Request("http://localhost/mcp", {
      method,
      signal,
      headers: {
        authorization: `Bearer ${keyOf(key)}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(session === undefined ? {} : { "mcp-session-id": session, "mcp-protocol-version": version }),
        ...headers,
      },
      body: message && JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
    }),
  );
}
