import { Counts } from "../../base/index.ts";
import type { OpenCall } from "../open-call.ts";

/** The streams that the program of a session reads. One that the program has left counts no longer, though its call may still end. */
export class OpenStreams {
  readonly #open = new Set<OpenCall>();
  readonly #ofTool = new Counts();

  get count(): number {
    return this.#open.size;
  }

  of(tool: string): number {
    return this.#ofTool.of(tool);
  }

  add(call: OpenCall): void {
    if (!call.reader || this.#open.has(call)) return;
    this.#open.add(call);
    this.#ofTool.add(call.tool.name, 1);
  }

  remove(call: OpenCall): void {
    if (this.#open.delete(call)) this.#ofTool.add(call.tool.name, -1);
  }
}
