import { admit } from "../http/admit.ts";
import { allowedHosts } from "../http/allowed-hosts.ts";
import type { Key, Keys } from "../http/keys.ts";
import { STATUS_OF } from "../http/problems.ts";
import { BOUNDS } from "../http/bounds.ts";
import { listenHttp } from "../http/listen-http.ts";
import { Rates } from "../http/rates.ts";
import { HttpDoor } from "./http-door.ts";
import type { McpDoor } from "./mcp-door.ts";
import { refusal } from "./refusal.ts";

/** Where clients find the door. */
const MCP_PATH = "/mcp";

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
  const http = new HttpDoor(door, (principal) => keys.holds(principal as Key));
  const parts = { hosts: allowedHosts(host, hostNames), keys, rates: new Rates() };
  const fetch = async (request: Request): Promise<Response> => {
    const key = admit(parts, request.headers);
    if ("code" in key) return refusal(STATUS_OF[key.code], key.message, -32000, key.headers);
    if (new URL(request.url).pathname !== MCP_PATH) return refusal(404, `The door is at ${MCP_PATH}.`);
    return http.fetch(request, key);
  };
  const listener = await listenHttp({
    fetch,
    port,
    host,
    ...BOUNDS,
    portOption: "--http",
    onError: (error) => door.onError(error),
  });
  return {
    url: `${listener.url}${MCP_PATH}`,
    [Symbol.asyncDispose]: async () => {
      listener.stop();
      await http[Symbol.asyncDispose]();
      await listener.close();
    },
  };
}
