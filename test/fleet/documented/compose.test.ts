import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { SERVE, WORKER } from "../../../src/cli/command-options.ts";
import { type OptionTable, optionsOf } from "../../../src/cli/option.ts";
import { fixtures } from "../../cli/command.ts";
import { describeOfAll } from "../../support/all-tests.ts";
import { noPostgres, PostgresServer } from "../../postgres-support/postgres-server.ts";
import { begin, freePort, temporaryFolder, wordsOf } from "./commands.ts";

interface Service {
  readonly image: string;
  readonly command: string;
  readonly deploy: { readonly replicas: number };
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  readonly healthcheck: { readonly disable?: boolean };
  readonly stop_grace_period: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly build: { readonly dockerfile: string };
  readonly volumes: readonly { readonly target: string; readonly read_only: boolean }[];
}
type Named = "database" | "server" | "worker" | "balancer";

const path = "docs/fleet.compose.yaml";
const composed = parse(readFileSync(path, "utf8"), { merge: true }) as {
  readonly services: Readonly<Record<Named, Service>>;
  readonly configs: { readonly balancer: { readonly content: string } };
};
const { database, server, worker, balancer } = composed.services;
const settings = composed.configs.balancer.content;

/** What a command's own rules read of an option line. Throws what the command line refuses. */
function readBy(command: string, name: string, table: OptionTable): Record<string, unknown> {
  const [first, ...words] = command.split(" ");
  expect(first).toBe(name);
  const reader = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  for (const option of optionsOf(table)) reader.addOption(option);
  return reader.parse(words, { from: "user" }).opts();
}

describe("the compose file", () => {
  test("has PostgreSQL, two servers, three workers and a load balancer, and its file is in the package", () => {
    expect(Object.keys(composed.services)).toEqual(["database", "server", "worker", "balancer"]);
    expect([server.deploy.replicas, worker.deploy.replicas]).toEqual([2, 3]);
    expect(database.image).toMatch(/^postgres:\d+$/);
    const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly files: readonly string[] };
    expect(files).toContain("docs");
    expect(server.build.dockerfile).toBe("node_modules/portcullis/docs/serve.Dockerfile");
    expect(readFileSync("docs/fleet.md", "utf8")).toContain("node_modules/portcullis/docs/fleet.compose.yaml");
  });

  test("starts servers and workers with options that the command line takes", () => {
    const served = readBy(server.command, "serve", SERVE);
    expect(served).toMatchObject({ workers: "elsewhere", host: "0.0.0.0", port: 7332 });
    const working = readBy(worker.command, "worker", WORKER);
    expect(working).toMatchObject({ set: { concurrency: 16, leaseMs: 3000 } });
    for (const [service, { drain }] of [
      [server, served],
      [worker, working],
    ] as const)
      expect(Number.parseInt(service.stop_grace_period, 10) * 1000).toBeGreaterThan((drain as number) + 5000);
    expect(() => readBy(`${worker.command} --drains 3`, "worker", WORKER)).toThrow("--drains");
  });

  test("gives containers no rights, the keys for reading, and the password by the environment alone", () => {
    for (const service of [server, worker])
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ["ALL"],
        environment: { PGPASSWORD: "${PGPASSWORD}" },
      });
    expect(server.volumes).toMatchObject([{ target: "/run/secrets", read_only: true }]);
    expect(server.command).toContain("--keys /run/secrets/keys.json ");
    expect(new URL(worker.environment["PORTCULLIS_JOURNAL"] ?? "").password).toBe("");
    // The check of the image asks a server, and a worker is none.
    expect(worker.healthcheck).toEqual({ disable: true });
    expect(server.healthcheck).toBeUndefined();
  });

  test("balances over the port that servers listen on, and can be reached from its own machine alone", () => {
    expect(balancer.ports).toEqual(["127.0.0.1:7332:7332"]);
    expect(settings).toContain("server-template server 8 server:7332 ");
    expect(settings).toContain("timeout server 1h");
  });
});

const haproxy = spawnSync("haproxy", ["-v"]).status === 0;
if (!haproxy) process.stderr.write(`The load balancer of ${path} is not started: there is no haproxy.\n`);

test.skipIf(!haproxy)("HAProxy finds no fault in its settings", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "haproxy.cfg");
  writeFileSync(file, settings);
  const { status, stderr, stdout } = spawnSync("haproxy", ["-c", "-f", file], { encoding: "utf8" });
  expect([status, `${stdout}${stderr}`]).toEqual([0, expect.not.stringMatching(/warning|alert/i)]);
});

const compose = spawnSync("docker", ["compose", "version"], { encoding: "utf8" });
if (compose.status !== 0) process.stderr.write(`${path} is not read by Docker Compose: it is not installed.\n`);

test.skipIf(compose.status !== 0)("Docker Compose finds no fault in the file, and asks for the password", () => {
  const read = (PGPASSWORD: string) =>
    spawnSync("docker", ["compose", "--project-directory", ".", "--file", path, "config", "--quiet"], {
      encoding: "utf8",
      env: { ...process.env, PGPASSWORD },
    });
  expect(read("secret")).toMatchObject({ status: 0, stderr: "" });
  expect(read("")).toMatchObject({ stderr: expect.stringContaining("PGPASSWORD") });
});

describeOfAll.skipIf(noPostgres)("its services, started here", () => {
  const stack = new AsyncDisposableStack();
  const servers: ReturnType<typeof begin>[] = [];
  const ports: number[] = [];
  const KEY = "ann-0123456789abcdef";

  beforeAll(async () => {
    const postgres = stack.use(await PostgresServer.start());
    const { path: folder } = stack.use(temporaryFolder());
    const keys = join(folder, "keys.json");
    const ann = { id: "ann", key: KEY, tenant: "acme", scopes: ["run", "read", "decide"] };
    writeFileSync(keys, JSON.stringify({ keys: [ann] }), { mode: 0o600 });
    const environment = {
      PORTCULLIS_JOURNAL: postgres.url({ password: "" }),
      PGPASSWORD: new URL(postgres.url()).password,
    };
    const files = { "tools.js": join(fixtures, "approval-tools.ts"), "/run/secrets/keys.json": keys };
    const started = (command: string, more: Readonly<Record<string, string>> = {}) =>
      stack.use(begin(wordsOf(command, { ...files, ...more }), environment));
    for (let n = 0; n < server.deploy.replicas; n += 1) {
      const port = await freePort();
      ports.push(port);
      servers.push(started(server.command, { "0.0.0.0": "127.0.0.1", "7332": String(port) }));
    }
    const workers = Array.from({ length: worker.deploy.replicas }, () => started(worker.command));
    const saying = (one: ReturnType<typeof begin>, what: string) =>
      vi.waitUntil(
        () => {
          if (one.child.exitCode !== null) throw new Error(`It has ended: ${one.said()}`);
          return one.said().includes(what);
        },
        { timeout: 120_000, interval: 100 },
      );
    for (const one of servers) await saying(one, "serving at");
    for (const one of workers) await saying(one, "works for the fleet");
  }, 300_000);
  afterAll(() => stack.disposeAsync(), 60_000);

  const ask = (port: number) => async (method: string, path: string, body?: unknown) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.status, answer };
  };

  /** Submits a program that pays, decides, and reads how it went on. */
  async function decides(port: number, execution: string) {
    const request = ask(port);
    const program = "return await tools.pay({ amount: 5 });";
    expect(await request("POST", "/v1/executions", { program, id: execution, wait: false })).toMatchObject({
      status: 202,
    });
    const events = await request("GET", `/v1/executions/${execution}/events`);
    const waiting = await request("GET", `/v1/executions/${execution}?wait=60`);
    expect(await waiting.answer.json()).toMatchObject({ state: "waiting" });
    const decisions = { 1: { allow: true } };
    expect(await request("POST", `/v1/executions/${execution}/decisions`, { decisions })).toMatchObject({
      status: 200,
    });
    expect(await events.answer.text()).toMatch(/event: call_ended[^]*event: execution_ended/);
    const ended = await request("GET", `/v1/executions/${execution}?wait=60`);
    expect(await ended.answer.json()).toMatchObject({ outcome: { type: "completed", value: { paid: 5 } } });
  }

  test("a client submits at one server, decides there, and reads what a worker has done", async () => {
    await decides(ports[0] ?? 0, "one");
  }, 240_000);
});
