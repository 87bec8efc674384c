import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Size of a memory page, in bytes: this process's memory in bytes over its memory in pages, rounded to a power of two. */
const pageBytes = (): number => {
  const pages = Number(readFileSync("/proc/self/statm", "latin1").split(" ", 2)[1]);
  return 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
};
let pageSize: number | undefined;

/** Whether the memory of another process can be read here, which needs /proc. */
export function canWatchMemory(): boolean {
  const gauge = new MemoryGauge(process.pid);
  const bytes = gauge.read();
  gauge.close();
  return bytes > 0;
}

/** A file of one process in /proc with numbers, kept open because it is read often. */
class ProcessFile {
  readonly #buffer = Buffer.allocUnsafe(128);
  #file: number | undefined;

  constructor(pid: number, name: string) {
    try {
      this.#file = openSync(`/proc/${pid}/${name}`, "r");
    } catch {
      this.#file = undefined;
    }
  }

  /** The number at this index; undefined if it cannot be read or the process has ended. */
  protected number(index: number): number | undefined {
    if (this.#file === undefined) return undefined;
    try {
      const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
      return Number(this.#buffer.toString("latin1", 0, length).split(" ")[index]);
    } catch {
      return undefined;
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

export class MemoryGauge extends ProcessFile {
  constructor(pid: number) {
    super(pid, "statm");
  }

  /** Bytes; 0 if they cannot be read or the process has ended. */
  read(): number {
    const pages = this.number(1) ?? 0;
    if (!(pages > 0)) return 0;
    pageSize ??= pageBytes();
    return pages * pageSize;
  }
}

/** Reads the processor time of the main thread of one process, which Linux counts in nanoseconds. */
export class ProcessorGauge extends ProcessFile {
  constructor(pid: number) {
    super(pid, "schedstat");
  }

  /** Milliseconds of processor time since the thread began; undefined if they cannot be read or the process has ended. */
  read(): number | undefined {
    const nanoseconds = this.number(0) ?? 0;
    return nanoseconds > 0 ? nanoseconds / 1e6 : undefined;
  }
}
