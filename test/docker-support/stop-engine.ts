import { readFileSync, rmSync } from "node:fs";
import { OWN_FOLDER } from "./own-engine.ts";

/** After the last test of a run: ends the engine that one of them has started, if one has. */
export function teardown(): void {
  try {
    process.kill(Number(readFileSync(`${OWN_FOLDER}/pid`, "utf8")), "SIGTERM");
  } catch {
    // None was started.
  }
  rmSync(`${OWN_FOLDER}/exec`, { recursive: true, force: true });
}
