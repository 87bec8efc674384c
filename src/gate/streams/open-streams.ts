import type { OpenCall } from "../open-call.ts";

/** The streams that the program of a session reads. One that the program has left counts no longer, though its call may still end. */
export class OpenStreams {
  readonly #open = new Set<OpenCall>();
  readonly #ofTool = new Map<string, number>();

  get count(): number {
    return this.#open.size;
  }

  of(tool: string): number {
    return this.#ofTool.get(tool) ?? 0;
  }

  add(call: OpenCall): void {
    if (!call.reader || this.#open.has(call)) return;
    this.#open.add(call);
    this.#change(call.tool.name, 1);
  }

  remove(call: OpenCall): void {
    if (this.#open.delete(call)) this.#change(call.tool.name, -1);
  }

  #change(tool: string, by: number): void {
    const count = this.of(tool) + by;
    if (count === 0) this.#ofTool.delete(tool);
    else this.#ofTool.set(tool, count);
  }
}
