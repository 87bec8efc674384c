import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { OWN_FOLDER } from "./own-engine.ts";

const ENDING_MS = 15_000;

/** After the last test of a run: ends the engine that one of them has started, if one has, and waits until it has gone. */
export async function teardown(): Promise<void> {
  const deadline = Date.now() + ENDING_MS;
  try {
    const pid = Number(readFileSync(`${OWN_FOLDER}/pid`, "utf8"));
    process.kill(pid, "SIGTERM");
    for (; Date.now() < deadline; await delay(50)) process.kill(pid, 0);
  } catch {
    // None was started, or it has gone.
  }
}
