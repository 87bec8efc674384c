import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { firstOfEachClass, readAttacks } from "./hostile-support/attacks.ts";
import { cpuMs, enginesOf } from "./hostile-support/engines.ts";
import { framesOnPipeSuite, hostileSuite } from "./hostile-support/hostile-suite.ts";

/** Processor time after which an engine is in its work. */
const BUSY_MS = 300;

const attacks = readAttacks();
const first = new Set(firstOfEachClass(attacks));

hostileSuite(attacks.filter((attack) => !first.has(attack)));

describe("a guest that forges frames on a pipe", () => framesOnPipeSuite(attacks));

describe("a host that is killed in the middle of attacks leaves no engine behind", () => {
  test.each(["kernel", "watch"])("where engines learn of it by way of: %s", async (mode) => {
    const script = fileURLToPath(new URL("hostile-support/host-under-attack.ts", import.meta.url));
    const host = spawn(process.execPath, [script, mode], { stdio: ["ignore", "inherit", "inherit"] });
    await busyEngines(host, 3);
    host.kill("SIGKILL");
    await once(host, "exit");
    await expect.poll(() => enginesOf(host.pid ?? 0)).toEqual([]);
  });
});

/** Waits until so many engines of a host have got into their work. */
async function busyEngines(host: ChildProcess, count: number): Promise<void> {
  const busy = () => enginesOf(host.pid ?? 0).filter((pid) => cpuMs(pid) > BUSY_MS).length;
  await expect.poll(() => host.exitCode ?? busy()).toBeGreaterThanOrEqual(count);
}
