import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const fixture = join(import.meta.dirname, "fixtures", "loaded.ts");

async function loadedWith(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", fixture, ...args]);
  return JSON.parse(stdout) as string[];
}

test("without an SDK neither the package of OpenTelemetry nor what makes spans is loaded, and with one both are", async () => {
  expect(await loadedWith()).toEqual(["options.ts", "process-load.ts", "sdk-switch.ts"]);
  expect(await loadedWith("sdk")).toEqual(expect.arrayContaining(["telemetry.ts", "meters.ts", "index.mjs"]));
});
