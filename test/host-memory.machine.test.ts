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
/** What SECURITY.md promises: no program grows the host's heap by more, and the heap with the buffers beside it by more. */
const GROWN_MIB = 64;
const ALL_MIB = 80;
const HEAP_MIB = 256;

/** Programs by what they make the host hold. They catch what they are refused, and go on. */
const PROGRAMS: Readonly<Record<string, string>> = {
  "400 inputs of 57 kB for slow handlers": `
    const rows = Array.from({ length: 19000 }, () => []);
    const all = await Promise.allSettled(Array.from({ length: 400 }, () => tools.slow({ rows })));
    return all.filter(({ status }) => status === "fulfilled").length;`,
  "300 failures with a message of 1 MB": `
    let caught = 0;
    for (let n = 0; n < 300; n += 1) await tools.fail({ n }).catch(() => { caught += 1; });
    return caught;`,
  "refusals that quote names of 300 kB": `
    let caught = 0;
    for (let n = 0; n < 150; n += 1) {
      await tools.strict({ ["x".repeat(300000) + n]: 1 }).catch(() => { caught += 1; });
      await tools.tick({});
    }
    return caught;`,
  "results of 1 MB": `
    const texts = [];
    for (let n = 0; n < 100; n += 1) texts.push(await tools.text({ wide: false }).catch(() => ""));
    return texts.length;`,
  "results of 1 MB that take twice as much in memory": `
    const texts = [];
    for (let n = 0; n < 100; n += 1) texts.push(await tools.text({ wide: true }).catch(() => ""));
    return texts.length;`,
  "results of 20 MB that arrive while the program computes": `
    const open = [tools.large({}), tools.large({}), tools.look({})];
    await tools.tick({});
    for (let n = 0; n < 3e9; n += 1);
    return (await Promise.all(open)).length;`,
  "results of 1 MB, all at once": `
    const all = await Promise.allSettled(Array.from({ length: 100 }, () => tools.text({ wide: true })));
    return all.length;`,
  "results of 1 MB that it leaves unread, for it computes": `
    const all = Array.from({ length: 44 }, () => tools.late({}));
    await tools.tick({});
    for (let n = 0; n < 4e9; n += 1);
    return (await Promise.allSettled(all)).length;`,
};

/** Programs for a journal in a file, with which calls may move 1 GiB. */
const PROGRAMS_WITH_FILE: Readonly<Record<string, string>> = {
  ...PROGRAMS,
  "400 results of 1 MB that it leaves unread, for it computes": `
    const all = Array.from({ length: 400 }, () => tools.late({}).then(({ length }) => length));
    await tools.tick({});
    for (let n = 0; n < 4e9; n += 1);
    return (await Promise.allSettled(all)).length;`,
  "200 inputs of 900 kB, one after the other": `
    const value = "x".repeat(900_000);
    for (let n = 0; n < 200; n += 1) await tools.take({ value });
    return 200;`,
  "300 calls with an input of 900 kB that stay open": `
    const value = "x".repeat(900_000);
    const all = Array.from({ length: 300 }, () => tools.stay({ value }));
    return (await Promise.allSettled(all)).length;`,
};

/** The quick run takes the largest class alone. */
const cases = [
  ...Object.entries(PROGRAMS).map((named) => ["memory", ...named] as const),
  ...Object.entries(PROGRAMS_WITH_FILE).map((named) => ["a file", ...named] as const),
];
const chosen = cases.filter(([, name]) => ALL_TESTS || name === "results of 1 MB, all at once");
if (!ALL_TESTS)
  process.stdout.write(
    `${chosen.length} of ${cases.length} programs that fill the host's memory are run; make test-all runs all.\n`,
  );

/** Runs a program in a host of its own, with a heap of `HEAP_MIB`. */
async function grow<Told>(flags: readonly string[], ...args: readonly string[]): Promise<Told> {
  const script = fileURLToPath(new URL("hostile-support/host-memory.ts", import.meta.url));
  const all = ["--expose-gc", `--max-old-space-size=${HEAP_MIB}`, ...flags, script, ...args];
  const { stdout } = await promisify(execFile)(process.execPath, all);
  return JSON.parse(stdout) as Told;
}

test.each(chosen)(
  `a host with a heap of ${HEAP_MIB} MiB and its journal in %s lives on, and grows by no more than is promised: %s`,
  { timeout: 120_000 },
  async (place, _, program) => {
    const folder = memoryFolder("portcullis-memory-");
    const file = place === "memory" ? [] : [join(folder, "journal.db")];
    const { grownBytes, allBytes, outcome } = await grow<{
      readonly grownBytes: number;
      readonly allBytes: number;
      readonly outcome: Outcome;
    }>([], program, ...file);
    rmSync(folder, { recursive: true });
    process.stdout.write(
      `grown by ${(grownBytes / MIB).toFixed(1)} MiB, with buffers by ${(allBytes / MIB).toFixed(1)}: ${outcome.type}\n`,
    );
    expect(grownBytes / MIB).toBeLessThanOrEqual(GROWN_MIB);
    expect(allBytes / MIB).toBeLessThanOrEqual(ALL_MIB);
    if (outcome.type !== "completed") expect(outcome).toMatchObject({ type: "stopped" });
  },
);

/** What a replay may add to the resident memory of a host, its garbage included. */
const REPLAYED_MIB = 128;

test.skipIf(!ALL_TESTS)(
  `a replay of 400 calls of 1 MB adds at most ${REPLAYED_MIB} MiB to a host with a heap of ${HEAP_MIB} MiB`,
  { timeout: 240_000 },
  async () => {
    const folder = memoryFolder("portcullis-memory-");
    const program = `
      const value = "x".repeat(1_000_000);
      for (let n = 0; n < 400; n += 1) await tools.take({ value: value + n });
      return 400;`;
    // V8 lets the young generation of a host with much memory grow to 96 MB of garbage, whatever is held.
    const { residentBytes, ...told } = await grow<{ readonly residentBytes: number }>(
      ["--max-semi-space-size=16"],
      program,
      join(folder, "journal.db"),
      "replay",
    );
    rmSync(folder, { recursive: true });
    process.stdout.write(`the replay has added ${(residentBytes / MIB).toFixed(1)} MiB\n`);
    expect(told).toMatchObject({ replayed: "identical", outcome: { type: "completed", value: 400 } });
    expect(residentBytes / MIB).toBeLessThanOrEqual(REPLAYED_MIB);
  },
);
