import type { Key } from "../http/keys.ts";
import { HttpDoor } from "./http-door.ts";
import { McpDoor, type McpDoorOptions } from "./mcp-door.ts";
import { refusal } from "./refusal.ts";

export interface MountedMcpOptions extends McpDoorOptions {
  /** Whether a key that was let in still holds. */
  readonly isCurrent: (key: Key) => boolean;
}

/** The MCP door as a path of the server. It is opened by its first request, because its package is one that few servers need. */
export class MountedMcp implements AsyncDisposable {
  readonly #options: MountedMcpOptions;
  #opening: Promise<HttpDoor> | undefined;
  #isClosed = false;

  constructor(options: MountedMcpOptions) {
    this.#options = options;
  }

  async fetch(request: Request, key: Key): Promise<Response> {
    if (!key.scopes.includes("run")) return refusal(403, "This key may not run programs: it has no scope run.");
    if (this.#isClosed) return refusal(503, "The server is closed.");
    let door: HttpDoor;
    try {
      const { isCurrent } = this.#options;
      this.#opening ??= McpDoor.open(this.#options).then(
        // Each principal of this door is a key.
        (opened) => new HttpDoor(opened, (principal) => isCurrent(principal as Key)),
      );
      door = await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      this.#options.onError?.(error);
      return refusal(503, "The server cannot speak MCP: its operator was told why.");
    }
    return door.fetch(request, key);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await (await this.#opening)?.[Symbol.asyncDispose]();
  }
}
