import { closeSync, openSync, readFileSync, readSync } from "node:fs";

/** Size of a memory page, in bytes: this process's memory in bytes over its memory in pages, rounded to a power of two. */
const pageBytes = (): number => {
  const pages = Number(readFileSync("/proc/self/statm", "latin1").split(" ", 2)[1]);
  return 2 ** Math.round(Math.log2(process.memoryUsage.rss() / pages));
};
let pageSize: number | undefined;

/** What the files of a process in /proc tell, by the place of a number in one of them. */
const GAUGES = {
  /** Resident memory, in bytes. */
  memory: { file: "statm", place: 1, unit: () => (pageSize ??= pageBytes()) },
  /** Processor time of the main thread, in milliseconds since it began; Linux counts nanoseconds. */
  processor: { file: "schedstat", place: 0, unit: () => 1e-6 },
};

/** Reads one amount of a process. The file is kept open because it is read often. */
export class ProcessGauge {
  readonly #buffer = Buffer.allocUnsafe(128);
  readonly #gauge: (typeof GAUGES)[keyof typeof GAUGES];
  #file: number | undefined;

  constructor(pid: number, kind: keyof typeof GAUGES) {
    this.#gauge = GAUGES[kind];
    try {
      this.#file = openSync(`/proc/${pid}/${this.#gauge.file}`, "r");
    } catch {
      // This system has no such file, or the process has ended.
    }
  }

  /** Undefined if it cannot be read or the process has ended. */
  read(): number | undefined {
    if (this.#file === undefined) return undefined;
    try {
      const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
      const amount = Number(this.#buffer.toString("latin1", 0, length).split(" ")[this.#gauge.place]);
      return amount > 0 ? amount * this.#gauge.unit() : undefined;
    } catch {
      return undefined;
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}
