import { describe, expect, test } from "vitest";
import { createDockerSandbox } from "../../src/sandboxes/index.ts";
import { attackCommand } from "../docker-support/attack-command.ts";
import { containersOf } from "../docker-support/containers.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import type { Attack } from "./attacks.ts";
import { HostileLog, titled } from "./hostile-suite.ts";

/** Holds attacks that have a container to themselves to their endings and effects. Nothing of them is left. */
export function containerSuite(attacks: readonly Attack[]): void {
  describe.skipIf(needDockerEngine() !== undefined)("a hostile program that has a container to itself", () => {
    test.each(titled(attacks))("%s", async (_, attack) => {
      const log = new HostileLog();
      await using sandbox = createDockerSandbox({ command: attackCommand(attack) });
      await using runtime = await log.open(sandbox);
      await log.hold(attack, runtime, "return 1;");
      await expect.poll(() => containersOf()).toEqual([]);
    });
  });
}
