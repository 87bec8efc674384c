import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fixtures, start } from "../../cli/command.ts";
import { noPostgres, PostgresServer } from "../../postgres-support/postgres-server.ts";
import { newFolder } from "../../support/new-folder.ts";
import { freePort } from "../../support/free-port.ts";
import { testOfAll } from "../../support/all-tests.ts";

const document = readFileSync("docs/fleet.md", "utf8");
const units = [...document.matchAll(/```ini\n([^`]*)```/g)].map(([, unit = ""]) => unit);
const named = (what: string) => units.find((unit) => unit.includes(` ${what} --tools`)) ?? "";

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;
if (!hasSystemd) process.stderr.write("The units of docs/fleet.md are not verified: there is no systemd-analyze.\n");

test.skipIf(!hasSystemd)("systemd finds no fault in the units of the document", () => {
  const folder = newFolder(onTestFinished);
  expect(units).toHaveLength(2);
  for (const [name, unit] of [
    ["portcullis-server.service", named("serve")],
    ["portcullis-worker@.service", named("worker")],
  ] as const) {
    const file = join(folder, name);
    writeFileSync(file, unit.replace("/usr/bin/node", process.execPath));
    const { stderr, status } = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    expect(stderr.split("\n").filter((line) => line.includes(folder))).toEqual([]);
    expect(status).toBe(0);
  }
});

/** The arguments of a unit's command, with the files and the port of the test. */
function argumentsOf(unit: string, files: Readonly<Record<string, string>>): string[] {
  const [, command = ""] = /^ExecStart=\S+ \S+cli\.js (.*)$/m.exec(unit) ?? [];
  return command.split(" ").map((word) => files[word] ?? word);
}

testOfAll.skipIf(noPostgres)(
  "the commands of the units are a fleet: two workers drive what a server is asked, one of them after the other has ended",
  async () => {
    await using database = await PostgresServer.start();
    const folder = newFolder(onTestFinished);
    const tools = join(fixtures, "tools.ts");
    const keys = join(folder, "keys.json");
    writeFileSync(keys, JSON.stringify({ keys: [{ id: "ann", key: "ann-0123456789abcdef", tenant: "acme" }] }), {
      mode: 0o600,
    });
    const port = await freePort();
    const files = { "tools.js": tools, "/etc/portcullis/keys.json": keys, "7332": String(port) };
    const environment = { PORTCULLIS_JOURNAL: database.url() };
    const started = (unit: string) => {
      const { child } = start(argumentsOf(unit, files), { environment });
      onTestFinished(() => void child.kill("SIGKILL"));
      let said = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (said += String(data)));
      return { child, said: () => said };
    };
    const server = started(named("serve"));
    await expect.poll(server.said, { timeout: 60_000 }).toContain(String(port));
    const run = async (n: number) => {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/executions`, {
        method: "POST",
        headers: { authorization: "Bearer ann-0123456789abcdef", "content-type": "application/json" },
        body: JSON.stringify({ program: `return await tools.strict({ n: ${n} });` }),
      });
      return (await answer.json()) as { readonly outcome?: unknown };
    };
    const first = started(named("worker"));
    await expect.poll(first.said, { timeout: 60_000 }).toContain("works for the fleet");
    expect((await run(42)).outcome).toEqual({ type: "completed", value: 42 });
    const second = started(named("worker"));
    await expect.poll(second.said, { timeout: 60_000 }).toContain("works for the fleet");
    const ended = new Promise((resolve) => void first.child.once("exit", resolve));
    first.child.kill("SIGTERM");
    expect(await ended).toBe(0);
    expect((await run(8)).outcome).toEqual({ type: "completed", value: 8 });
  },
  240_000,
);
