import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { Daemon } from "../../src/sandboxes/docker/daemon.ts";

const run = promisify(execFile);
const SAMPLE_MS = 250;

/**
 * Watches what containers write to the engine's disk, logs above all, while something goes on. Only where the engine's
 * folder can be read from here; elsewhere nothing is seen.
 */
export class DiskWatch implements AsyncDisposable {
  readonly #folder: string;
  readonly #timer: NodeJS.Timeout;
  #baseBytes = 0;
  #peakBytes = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#timer = setInterval(() => void this.#sample(), SAMPLE_MS);
  }

  static async start(): Promise<DiskWatch> {
    const { DockerRootDir: folder } = (await new Daemon().info()) as { readonly DockerRootDir: string };
    const watch = new DiskWatch(folder);
    watch.#baseBytes = await watch.#read();
    return watch;
  }

  /** Most bytes that were there above those at the start. */
  async grownBytes(): Promise<number> {
    await this.#sample();
    return this.#peakBytes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    this.#peakBytes = Math.max(this.#peakBytes, (await this.#read()) - this.#baseBytes);
  }

  async #read(): Promise<number> {
    // Files come and go while it counts, which it complains of by its exit code.
    const { stdout } = await run("du", ["-sb", `${this.#folder}/containers`]).catch(
      (error: { readonly stdout?: string }) => ({
        stdout: error.stdout ?? "",
      }),
    );
    return Number(stdout.split("\t")[0] ?? 0) || 0;
  }
}
