import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { containersOf, removeContainersOf } from "../../docker-support/containers.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { engineProxy } from "../../docker-support/engine-proxy.ts";
import { tool } from "../../support/tools.ts";

const skipped = needDockerEngine() !== undefined;

/** A host that was killed in the middle of a program which never ends. */
async function killHost(...args: readonly string[]): Promise<number> {
  const script = fileURLToPath(new URL("host-in-mid-program.ts", import.meta.url));
  const host = spawn(process.execPath, [script, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  await once(host.stdout, "data");
  const pid = host.pid ?? 0;
  expect(await containersOf(pid)).toHaveLength(1);
  host.kill("SIGKILL");
  await once(host, "exit");
  return pid;
}

/** States of a host's containers: running, or exited. */
async function statesOf(hostPid: number): Promise<readonly string[]> {
  const ids = await containersOf(hostPid);
  const found = await Promise.all(
    ids.map((id) => new Daemon().ask((docker) => docker.getContainer(id).inspect()).catch(() => undefined)),
  );
  return found.flatMap((one) => (one ? [one.State.Status] : []));
}

describe.skipIf(skipped)("what a host leaves behind", () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    return removeContainersOf();
  });

  test.each([
    ["javascript", "pipes"],
    ["python", "pipes"],
    ["javascript", "streams"],
    ["python", "streams"],
  ])("a busy container, with a program in %s and its bridge by %s, ends with its host", async (language, way) => {
    const pid = await killHost(language, way);
    await expect.poll(() => statesOf(pid)).toEqual(["exited"]);
    await removeContainersOf(pid);
  });

  test("a busy container whose watching process was ended is left for the next host", async () => {
    const pid = await killHost("hostile");
    await delay(500);
    // The next host may be that of a test beside this one, which has removed it, or is about to.
    expect(await statesOf(pid)).not.toContain("exited");
    await using sandbox = createDockerSandbox();
    await sandbox.warm?.();
    await expect.poll(() => containersOf(pid)).toEqual([]);
  });

  test("the container of a host that was killed is removed by the next host's start", async () => {
    const pid = await killHost();
    await using sandbox = createDockerSandbox();
    await sandbox.warm?.();
    expect(await containersOf(pid)).toEqual([]);
  });

  test("containers of running hosts are kept", async () => {
    await using one = createDockerSandbox({ warm: 1 });
    await one.warm?.();
    await using two = createDockerSandbox();
    await two.warm?.();
    expect(one.load?.idle).toBe(1);
    expect(await containersOf()).toHaveLength(1);
  });

  test("a closed sandbox leaves no container, warm ones included", async () => {
    const sandbox = createDockerSandbox({ warm: 2 });
    await sandbox.warm?.();
    expect(await containersOf()).toHaveLength(2);
    await sandbox[Symbol.asyncDispose]();
    expect(await containersOf()).toEqual([]);
  });

  test("a daemon that stops during a program is reported with a sentence and the calls made so far", async () => {
    const proxy = await engineProxy();
    await using sandbox = createDockerSandbox();
    const stop = tool("stop", () => proxy.stop());
    await using runtime = await createRuntime({ tools: [stop], sandbox });
    const { outcome, calls } = await runtime.execute(
      "await tools.stop();\nawait new Promise(() => setInterval(() => {}, 1000));",
    );
    expect(outcome).toEqual({
      type: "crashed",
      code: "engine_died",
      detail: expect.stringMatching(
        /^No Docker daemon answers at unix:\S+: start it \(sudo systemctl start docker\), or set DOCKER_HOST to one that runs\.$/,
      ) as string,
    });
    expect(calls).toMatchObject([{ tool: "stop" }]);
  });
});
