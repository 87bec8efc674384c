import type { CurrentKeys } from "../../current-keys.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem } from "../../http/problems.ts";
import { HttpDoor, type HttpDoorParts } from "./http-door.ts";
import type { Principal } from "../../principal.ts";
import { McpDoor, type McpDoorOptions } from "../mcp-door.ts";

export interface MountedMcpOptions extends Omit<McpDoorOptions, "runtimeOf">, Omit<HttpDoorParts, "door" | "keys"> {
  readonly keys: CurrentKeys;
}

/** The MCP door as a path of the server. It is opened by its first request, because few servers need its package. */
export class MountedMcp implements AsyncDisposable {
  readonly #options: MountedMcpOptions;
  #opening: Promise<HttpDoor> | undefined;
  #isClosed = false;

  constructor(options: MountedMcpOptions) {
    this.#options = options;
  }

  async fetch(request: Request, key: Key): Promise<Response> {
    if (this.#isClosed) throw new RequestProblem("server_closing", "The server is closed.");
    return (await this.#opened()).fetch(request, key);
  }

  async #opened(): Promise<HttpDoor> {
    const { keys, open, onError } = this.#options;
    const runtimeOf = (key: Principal) => keys.runtimeOf(key as Key);
    try {
      this.#opening ??= McpDoor.open({ ...this.#options, runtimeOf }).then(
        (door) => new HttpDoor({ door, open, keys }),
      );
      return await this.#opening;
    } catch (error) {
      this.#opening = undefined;
      onError?.(error);
      throw new RequestProblem("mcp_unavailable", "The server cannot speak MCP: its operator was told why.");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await (await this.#opening)?.[Symbol.asyncDispose]();
  }
}
