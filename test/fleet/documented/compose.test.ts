import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { SERVE, WORKER } from "../../../src/cli/command-options.ts";
import { type OptionTable, optionsOf } from "../../../src/cli/option.ts";
import { newFolder } from "../../support/new-folder.ts";

interface Service {
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
type Named = "server" | "worker" | "balancer";

const path = "docs/fleet.compose.yaml";
const composed = parse(readFileSync(path, "utf8"), { merge: true }) as {
  readonly services: Readonly<Record<Named, Service>>;
  readonly configs: { readonly balancer: { readonly content: string } };
};
const { server, worker, balancer } = composed.services;
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
  test("starts servers and workers with options that the command line takes", () => {
    expect([server.deploy.replicas, worker.deploy.replicas]).toEqual([2, 3]);
    expect(server.build.dockerfile).toBe("node_modules/portcullis/docs/serve.Dockerfile");
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
  const file = join(newFolder(onTestFinished), "haproxy.cfg");
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
