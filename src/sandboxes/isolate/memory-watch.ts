import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Size of a page of memory here: this process's own memory, known in bytes and in pages, tells. Sizes are powers of two. */
const pageBytes = (): number => {
  const pages = Number(readFileSync("/proc/self/statm", "latin1").split(" ", 2)[1]);
  return 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
};
let pageSize: number | undefined;

/** Whether memory of another process can be read here: on Linux, from /proc. */
export function canWatchMemory(): boolean {
  const gauge = new MemoryGauge(process.pid);
  const bytes = gauge.read();
  gauge.close();
  return bytes > 0;
}

/** Reads one process's resident memory, often: its file in /proc stays open in between. */
export class MemoryGauge {
  readonly #buffer = Buffer.allocUnsafe(128);
  #file: number | undefined;

  constructor(pid: number) {
    try {
      this.#file = openSync(`/proc/${pid}/statm`, "r");
    } catch {
      this.#file = undefined;
    }
  }

  /** Bytes; 0 where it cannot be read, or the process has ended. */
  read(): number {
    if (this.#file === undefined) return 0;
    try {
      const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
      pageSize ??= pageBytes();
      return Number(this.#buffer.toString("latin1", 0, length).split(" ", 2)[1]) * pageSize || 0;
    } catch {
      return 0;
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
