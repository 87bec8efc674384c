import { FrameQueue } from "./frame-queue.ts";
import type { Exit, Guest, KillReason } from "./sandbox.ts";

/** A guest in the host's own process: there is no process to end and none to measure. The first ending counts. */
export abstract class InProcessGuest implements Guest {
  readonly #exited = Promise.withResolvers<Exit>();
  readonly exit = this.#exited.promise;
  readonly frames = new FrameQueue(Number.POSITIVE_INFINITY, () => {});
  protected hasEnded = false;

  abstract send(frames: readonly string[]): void;

  usage() {
    return { peakMemoryBytes: 0, processorMs: undefined };
  }

  kill(reason: KillReason): void {
    this.end({ type: "killed", reason });
  }

  release(): void {
    this.end({ type: "released" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("disposed");
    await this.exit;
  }

  protected end(exit: Exit): void {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.frames.end();
    this.#exited.resolve(exit);
  }
}
