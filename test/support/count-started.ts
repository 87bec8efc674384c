import { subscribe } from "node:diagnostics_channel";
import { appendFileSync } from "node:fs";

/** Notes each process and thread that a test process starts, once for each process that loads this. */
const STARTED = "node_modules/.cache/started";
const noted = globalThis as { isStartedNoted?: true };

if (noted.isStartedNoted === undefined) {
  noted.isStartedNoted = true;
  subscribe("child_process", () => appendFileSync(STARTED, "p"));
  subscribe("worker_threads", () => appendFileSync(STARTED, "t"));
}
