import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PortcullisError } from "../../errors.ts";
import { admit } from "../http/admit.ts";
import { allowedHosts } from "../http/allowed-hosts.ts";
import type { Keys } from "../http/keys.ts";
import { nodeListener } from "../http/node-listener.ts";
import { Rates } from "../http/rates.ts";
import { HttpDoor } from "./http-door.ts";
import type { McpDoor } from "./mcp-door.ts";
import { refusal } from "./refusal.ts";

/** Where clients find the door. */
const MCP_PATH = "/mcp";

/** Connections at once. Each takes one of the files that the process may have open, which engines and servers need too. */
const MOST_CONNECTIONS = 4096;
/** Times that a client has for its headers, and for a whole request, in milliseconds. */
const HEADERS_MS = 15_000;
const REQUEST_MS = 60_000;

export interface ListenOptions {
  /** 0 for any that is free. */
  readonly port: number;
  readonly host: string;
  readonly keys: Keys;
  /** Names, beside its own, under which clients may address it. */
  readonly hostNames: readonly string[];
}

export interface ListeningDoor extends AsyncDisposable {
  readonly url: string;
}

/** Opens the door over HTTP. Rejects with `door_unavailable` if the address cannot be listened on. */
export async function listen(door: McpDoor, { port, host, keys, hostNames }: ListenOptions): Promise<ListeningDoor> {
  for (const key of keys.all) door.callsOf(key);
  const http = new HttpDoor(door);
  const parts = { hosts: allowedHosts(host, hostNames), keys, rates: new Rates() };
  const fetch = async (request: Request): Promise<Response> => {
    const key = admit(parts, request.headers);
    if ("status" in key) return refusal(key.status, key.message, -32000, key.headers);
    if (new URL(request.url).pathname !== MCP_PATH) return refusal(404, `The door is at ${MCP_PATH}.`);
    return http.fetch(request, key);
  };
  const server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: REQUEST_MS },
    nodeListener(fetch, (error) => door.onError(error)),
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.listen(port, host);
  try {
    await once(server, "listening");
  } catch (cause) {
    throw new PortcullisError(
      "door_unavailable",
      `The door cannot listen on ${host}, port ${port}: ${(cause as Error).message}. Give another port with --http.`,
      { cause },
    );
  }
  const { port: given } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${given}${MCP_PATH}`,
    [Symbol.asyncDispose]: async () => {
      server.close();
      await http[Symbol.asyncDispose]();
      server.closeAllConnections();
    },
  };
}
