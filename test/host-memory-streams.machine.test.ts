import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Outcome } from "../src/index.ts";
import { ALL_TESTS } from "./support/all-tests.ts";
import { memoryFolder } from "./support/memory-folder.ts";

const MIB = 1024 * 1024;
/** What SECURITY.md promises: no program grows the host by more. */
const GROWN_MIB = 64;
const ENGINE_MIB = 128;
const HEAP_MIB = 256;
const ROW_BYTES = 500;
/** Bytes of each of the two streams. Each is larger than the heap of its host where all tests are run. */
const STREAM_BYTES = ALL_TESTS ? 500_000_000 : 32_000_000;
/** Rows that may have been given and not read: of two batches of 256 KiB, and of one that is read. */
const ROWS_AHEAD = 3 * Math.ceil((256 * 1024) / ROW_BYTES);

interface Told {
  readonly ahead: Outcome;
  readonly outcome: Outcome;
  readonly streamedBytes: number;
  readonly heldBytes: number;
  readonly residentBytes: number;
  readonly engineBytes: number;
  readonly fileBytes: number;
  readonly ms: number;
}

async function joinStreams(...args: readonly string[]): Promise<Told> {
  const script = fileURLToPath(new URL("hostile-support/stream-memory.ts", import.meta.url));
  // V8 lets the young generation of a host with much memory grow to 96 MB of garbage, whatever is held.
  const flags = ["--expose-gc", `--max-old-space-size=${HEAP_MIB}`, "--max-semi-space-size=16"];
  const all = [...flags, script, String(STREAM_BYTES), ...args];
  const { stdout } = await promisify(execFile)(process.execPath, all);
  return JSON.parse(stdout) as Told;
}

test.each([["memory"], ["a file"]])(
  `a join of two streams of ${STREAM_BYTES / 1_000_000} MB each is right, with a journal in %s, and neither host nor engine grows with them`,
  { timeout: 300_000 },
  async (place) => {
    const folder = memoryFolder("portcullis-memory-");
    const told = await joinStreams(...(place === "memory" ? [] : [join(folder, "journal.db")]));
    rmSync(folder, { recursive: true });
    const mib = (bytes: number) => (bytes / MIB).toFixed(1);
    process.stdout.write(
      `${mib(told.streamedBytes)} MiB in ${told.ms} ms: held ${mib(told.heldBytes)} MiB more, resident ${mib(told.residentBytes)} MiB more, engine ${mib(told.engineBytes)} MiB, file ${mib(told.fileBytes)} MiB\n`,
    );
    const rows = Math.ceil(STREAM_BYTES / ROW_BYTES);
    // Of multiples of 2 and of 3, the keys of both are the multiples of 6 below twice the number of rows.
    const matches = Math.ceil((2 * rows) / 6);
    expect(told.outcome).toEqual({ type: "completed", value: { matches, sum: 3 * matches * (matches - 1) } });
    expect(told.heldBytes / MIB).toBeLessThanOrEqual(GROWN_MIB);
    expect(told.residentBytes / MIB).toBeLessThanOrEqual(GROWN_MIB);
    expect(told.engineBytes / MIB).toBeLessThanOrEqual(ENGINE_MIB);
    expect(told.ahead).toMatchObject({ type: "completed" });
    if (told.ahead.type === "completed") expect(told.ahead.value).toBeLessThanOrEqual(ROWS_AHEAD);
  },
);
