import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { addKey } from "../../../src/cli/commands/serve/key.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { makeServerFolder } from "./server-image.ts";
import { newFolder } from "../../support/new-folder.ts";

const CLIENT = readFileSync(new URL("fixtures/client.js", import.meta.url), "utf8");
const IMAGE = "portcullis-server:test";
const BUILDING_MS = 300_000;

const folder = newFolder();

describe.skipIf(!ALL_TESTS)("the folder of the image", { timeout: BUILDING_MS }, () => {
  let server: string;
  let key: string;
  beforeAll(async () => {
    server = await makeServerFolder(folder);
    const keys = join(server, "keys.json");
    key = addKey(keys, { id: "ann", tenant: "acme", scopes: ["run", "read", "decide"] });
    // The user of the image reads it. It has hashes alone.
    chmodSync(keys, 0o444);
  }, BUILDING_MS);

  const skipped = needDockerEngine() !== undefined;

  describe.skipIf(skipped)("with a daemon", { timeout: BUILDING_MS }, () => {
    let container: Docker.Container;
    const ask = <Answer>(question: (docker: Docker) => Promise<Answer>) => new Daemon().ask(question, BUILDING_MS);

    beforeAll(async () => {
      await ask(build);
      container = await ask((docker) =>
        docker.createContainer({
          Image: IMAGE,
          Cmd: ["serve", "--tools", "tools.js", "--host", "0.0.0.0", "--keys", "keys.json", "--drain", "5"],
          HostConfig: {
            NetworkMode: "none",
            ReadonlyRootfs: true,
            Tmpfs: { "/tmp": "" },
            CapDrop: ["ALL"],
            SecurityOpt: ["no-new-privileges"],
            Init: true,
            PidsLimit: 512,
          },
        }),
      );
    }, BUILDING_MS);
    afterAll(async () => {
      await ask(() => container.remove({ force: true, v: true }));
      await ask((docker) => docker.getImage(IMAGE).remove({ force: true }));
    }, BUILDING_MS);

    async function build(docker: Docker): Promise<void> {
      const stream = await docker.buildImage(
        { context: server, src: readdirSync(server) },
        { t: IMAGE, dockerfile: "Dockerfile", networkmode: "none" },
      );
      const said: unknown[] = await new Promise((resolve, reject) =>
        docker.modem.followProgress(stream, (error, all) => (error ? reject(error) : resolve(all))),
      );
      expect(JSON.stringify(said.at(-1))).not.toContain("errorDetail");
    }

    /** What a command prints in the container. */
    async function inContainer(...command: readonly string[]): Promise<string> {
      const exec = await container.exec({ Cmd: [...command], AttachStdout: true, AttachStderr: true, Tty: true });
      return (await text(await exec.start({ Tty: true }))).trim();
    }

    const script = (source: string, ...args: readonly string[]) =>
      inContainer("node", "--input-type=module", "-e", source, ...args);

    async function request(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }> {
      const printed = await script(CLIENT, method, path, key, ...(body ? [JSON.stringify(body)] : []));
      return JSON.parse(printed.split("\n").at(-1) ?? "") as { status: number; body: unknown };
    }

    /** Resolves once the server answers. */
    async function started(): Promise<void> {
      await container.start();
      for (;;) {
        const { status } = await request("GET", "/healthz").catch(() => ({ status: 0 }));
        if (status === 200) return;
        const { State: state } = await container.inspect();
        if (!state.Running) throw new Error(`The server ended: ${String(await container.logs({ stderr: true }))}`);
        await delay(200);
      }
    }

    test("it serves without rights and with a read-only file system, and its journal outlives it", async () => {
      await started();
      expect(await script("console.log(String(process.getuid()))")).toBe("65532");
      const write = `import { writeFileSync } from "node:fs"; try { writeFileSync("/app/x", ""); } catch ({ code }) { console.log(code); }`;
      expect(await script(write)).toBe("EROFS");
      const run = (program: string, id: string) => request("POST", "/v1/executions", { program, id });
      const outcome = { type: "completed", value: 42 };
      expect(await run("return await tools.double({ n: 21 });", "one")).toMatchObject({
        status: 200,
        body: { outcome },
      });
      expect(await run("return await tools.pay({});", "two")).toMatchObject({
        status: 200,
        body: { state: "waiting" },
      });

      await container.stop({ t: 30 });
      expect((await container.inspect()).State.ExitCode).toBe(0);
      await started();
      const decided = { decisions: { 1: { allow: true } } };
      expect((await request("POST", "/v1/executions/two/decisions", decided)).status).toBe(200);
      let state: unknown;
      while (state !== "ended") state = ((await request("GET", "/v1/executions/two")).body as { state: unknown }).state;
    });
  });
});
