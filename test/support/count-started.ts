import { subscribe } from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import { afterAll, expect, vi } from "vitest";

/** The variables that a file of tests has replaced are those of the process again for the next one. */
afterAll(() => void vi.unstubAllEnvs());

/** Notes each process and thread that a test process starts, with the file of the test. */
const STARTED = "node_modules/.cache/started";
const noted = globalThis as { isStartedNoted?: true };

const note = (kind: string) => appendFileSync(STARTED, `${kind} ${relative("", expect.getState().testPath ?? "")}\n`);

// Files of tests share a process.
if (noted.isStartedNoted === undefined) {
  noted.isStartedNoted = true;
  subscribe("child_process", () => note("process"));
  subscribe("worker_threads", () => note("thread"));
}
