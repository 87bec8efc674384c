import type { Key } from "../http/keys.ts";
import { HttpDoor } from "./http-door.ts";
import { McpDoor, type McpDoorOptions } from "./mcp-door.ts";
import { refusal } from "./refusal.ts";

/** The MCP door as a path of the server. It is opened by its first request, because its package is one that few servers need. */
export class MountedMcp implements AsyncDisposable {
  readonly #options: McpDoorOptions;
  #opening: Promise<HttpDoor> | undefined;

  constructor(options: McpDoorOptions) {
    this.#options = options;
  }

  async fetch(request: Request, key: Key): Promise<Response> {
    if (!key.scopes.includes("run")) return refusal(403, "This key may not run programs: it has no scope run.");
    let door: HttpDoor;
    try {
      this.#opening ??= McpDoor.open(this.#options).then((opened) => new HttpDoor(opened));
      door = await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      this.#options.onError?.(error);
      return refusal(503, "The server cannot speak MCP: its operator was told why.");
    }
    return door.fetch(request, key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#opening)?.[Symbol.asyncDispose]();
  }
}
