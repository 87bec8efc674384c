import { execFile } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { ALL_TESTS } from "../support/all-tests.ts";
import { memoryFolder } from "../support/memory-folder.ts";

const MIB = 1024 * 1024;
const RESULTS = 1000;
const script = fileURLToPath(new URL("gigabyte.ts", import.meta.url));

interface Moved {
  readonly outcome: unknown;
  readonly replayed: string;
  readonly results: number;
  readonly guestBytes: number;
  readonly grownBytes: number;
  readonly grownInReplayBytes: number;
  readonly fileBytes: number;
}

async function move(...words: readonly string[]): Promise<Moved> {
  const folder = memoryFolder("portcullis-gigabyte-");
  try {
    // V8 lets the young generation of a host with much memory grow to 96 MB of garbage, whatever is held.
    const args = ["--expose-gc", "--max-semi-space-size=16", "--conditions=portcullis-source", "--no-warnings", script];
    const { stdout } = await promisify(execFile)(process.execPath, [...args, join(folder, "journal.db"), ...words]);
    const moved = JSON.parse(stdout) as Moved;
    const mib = (bytes: number) => `${(bytes / MIB).toFixed(0)} MiB`;
    const { guestBytes, grownBytes, grownInReplayBytes, fileBytes } = moved;
    process.stdout.write(
      `${words.join(" ")} results of 1 MB: the host has grown by ${mib(grownBytes)}, in the replay too by ${mib(grownInReplayBytes)}; the engine by ${mib(guestBytes)}; the file has ${mib(fileBytes)}\n`,
    );
    return moved;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.skipIf(!ALL_TESTS)("a program with a journal in a file", () => {
  test(
    "gets 1 GB of results, of which the host's memory holds little, and replays as it was",
    { timeout: 900_000 },
    async () => {
      const moved = await move(`${RESULTS}`);
      expect(moved.outcome).toEqual({ type: "completed", value: RESULTS * 1_000_000 });
      expect(moved.replayed).toBe("identical");
      expect(moved.results).toBe(RESULTS + 1);
      // The engine's garbage is collected before it counts as the program's memory: it would have been stopped. Of what the
      // engine's process has freed, the system gets some back late.
      expect(moved.guestBytes / MIB).toBeLessThan(256);
      expect(moved.grownBytes / MIB).toBeLessThanOrEqual(150);
      // A replay reads the results from the file as fast as it can, and leaves more garbage.
      expect(moved.grownInReplayBytes / MIB).toBeLessThanOrEqual(200);
    },
  );
});
