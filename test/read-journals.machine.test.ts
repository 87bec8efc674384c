import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { ALL_TESTS } from "./support/all-tests.ts";
import { memoryFolder } from "./support/memory-folder.ts";

const SCRIPT = fileURLToPath(new URL("hostile-support/read-journals.ts", import.meta.url));
const folder = memoryFolder("portcullis-journals-");
afterAll(() => rmSync(folder, { recursive: true }));

const made = new Map<string, Promise<string>>();

/** The file of a journal of this kind, which is made once. */
function journalOf(kind: string): Promise<string> {
  const file = join(folder, `${made.size}.db`);
  const known = made.get(kind) ?? run([], "make", kind, file).then(() => file);
  made.set(kind, known);
  return known;
}

async function run(flags: readonly string[], ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...flags, "--conditions=portcullis-source", SCRIPT, ...args],
    { maxBuffer: 2 ** 24 },
  );
  return stdout;
}

interface Stood {
  readonly grownBytes: number;
  readonly longestMs: number;
  /** Processor time of a large turn that is encoded and parsed at once, in the same process. */
  readonly atOnceMs: number;
  readonly result: unknown;
}

/**
 * The longest pause beside a large turn at once, 240 ms on a machine at rest: readers that took whole turns needed 400 to
 * 1,300 ms, and now need 20 to 270, most of it for the collection of garbage.
 */
const MOST_AT_ONCE = 1.5;
/** A pause that a busy machine has made longer is measured again. */
const ATTEMPTS = 3;

const WAYS = [
  "status",
  "view",
  "call",
  "list",
  "the decision of an unknown call",
  "the same execute",
  "an unknown value",
  "recover",
  "export",
  "forty streams",
];
const BLOCKING = [
  ...WAYS.map((way) => ["a large turn", way] as const),
  ...["status", "view", "call", "list", "events"].map((way) => ["large values of hosts' calls", way] as const),
];
const quick = new Set(["the same execute", "view", "events"]);
const chosen = BLOCKING.filter(([, way]) => ALL_TESTS || quick.has(way));

test.each(chosen)(
  "a journal with %s keeps the host's thread for no long: %s",
  { timeout: 300_000 },
  async (kind, way) => {
    const file = await journalOf(kind);
    let least = Number.POSITIVE_INFINITY;
    for (let attempt = 0; attempt < ATTEMPTS && least >= MOST_AT_ONCE; attempt += 1) {
      const stood = JSON.parse(await run([], "read", way, file, "beside")) as Stood;
      expect(stood.result).toBeDefined();
      least = Math.min(least, stood.longestMs / stood.atOnceMs);
    }
    expect(least).toBeLessThan(MOST_AT_ONCE);
  },
);

/** What ended hosts with such a heap: what was read was not counted. */
const ENDED = [
  ["large calls", "forty streams", 256],
  ["forty programs", "forty results over MCP", 384],
  ["large calls", "status", 256],
  ["large calls", "view", 256],
  ["large calls", "the decision of an unknown call", 256],
  ["large calls", "export", 256],
  ["large calls", "recover", 256],
  ["many records", "list", 256],
  ["a stream of 256 MB", "status", 64],
  ["a stream of 256 MB", "view", 64],
  ["a stream of 256 MB", "list", 64],
  ["a stream of 256 MB", "export", 64],
] as const;

test.each(ENDED.filter(([kind, way]) => ALL_TESTS || (kind === "large calls" && way === "status")))(
  "a journal with %s does not end a host: %s, with a heap of %i MiB",
  { timeout: 300_000 },
  async (kind, way, heap) => {
    const file = await journalOf(kind);
    const stood = JSON.parse(await run([`--max-old-space-size=${heap}`], "read", way, file)) as Stood;
    expect(stood.result).toBeDefined();
  },
);
