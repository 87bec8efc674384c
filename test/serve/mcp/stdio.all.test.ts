import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { portcullis } from "../../cli/command.ts";
import { isRunning } from "../../sources/mcp/servers.ts";
import { cli, doorArgs } from "./doors.ts";
import { configWith, INITIALIZE, type LineDoor, openLineDoor, programCall } from "./line-door.ts";
import { newFolder } from "../../support/new-folder.ts";

const folder = newFolder();

describe("a door that cannot be", () => {
  test("without the package of the protocol says what to install, and ends with exit code 5", async () => {
    const without = fileURLToPath(new URL("fixtures/without-server.ts", import.meta.url));
    const door = openLineDoor(["--import", without, ...doorArgs()]);
    expect((await door.ended)[0]).toBe(5);
    expect(door.stdout()).toBe("");
    expect(await door.stderr).toMatch(/^portcullis: .*npm install @modelcontextprotocol\/server .*\n$/);
  });

  test("in a door in a door says which entry to look for", async () => {
    const config = join(folder, "itself.json");
    const args = ["--conditions=portcullis-source", cli, "mcp", "--mcp", config];
    // Behind a script of its own the entry is not known as the door's, which would be left out.
    const script = join(folder, "itself.mjs");
    writeFileSync(
      script,
      `process.argv.push("mcp", "--mcp", ${JSON.stringify(config)}); await import(${JSON.stringify(cli)});`,
    );
    const self = { command: process.execPath, args: ["--conditions=portcullis-source", script] };
    writeFileSync(config, JSON.stringify({ mcpServers: { self } }));
    // It stands in one door already: each further one has to start within the time in which a server lists its tools.
    const door = openLineDoor(args, { PORTCULLIS_DOORS: "1" });
    expect((await door.ended)[0]).toBe(5);
    expect(await door.stderr).toContain("an entry that starts the server itself");
  }, 60_000);
});

describe("the door ends with no process left", () => {
  test.each([
    ["the end of its standard input", (door: LineDoor) => door.child.stdin.end(), 0],
    ["SIGINT", (door: LineDoor) => door.child.kill("SIGINT"), 130],
    ["SIGTERM", (door: LineDoor) => door.child.kill("SIGTERM"), 143],
  ] as const)("by %s, while a program runs and a server stays", async (name, end, expected) => {
    const { config, mark } = configWith(folder, "stays", join(folder, name.replaceAll(" ", "-")));
    const door = openLineDoor(doorArgs("--mcp", config));
    await door.send(INITIALIZE);
    void door.send(programCall("return tools.clock.hang({})")).catch(() => {});
    await door.send({ method: "ping" });
    expect(isRunning(mark)).toBe(true);
    end(door);
    expect(await door.ended).toEqual([expected, null]);
    await expect.poll(() => isRunning(mark)).toBe(false);
  });

  test("before its servers have answered", async () => {
    const { config, mark } = configWith(folder, "silent-from-the-start");
    const door = openLineDoor(["--conditions=portcullis-source", cli, "mcp", "--mcp", config]);
    await expect.poll(() => isRunning(mark)).toBe(true);
    door.child.stdin.end();
    await door.ended;
    await expect.poll(() => isRunning(mark)).toBe(false);
  });

  test("although its client reads nothing", async () => {
    const child = spawn(process.execPath, doorArgs("--set", "patienceMs=1s"), { stdio: ["pipe", "pipe", "ignore"] });
    child.stdout.pause();
    const ended = once(child, "exit");
    const write = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    write({ id: 0, ...INITIALIZE });
    for (let id = 1; id < 200; id += 1)
      write({ id, method: "tools/call", params: { name: "shop-list", arguments: { n: 300 } } });
    await expect.poll(() => child.stdout.readableLength).toBeGreaterThan(0);
    child.stdin.end();
    child.kill("SIGTERM");
    await ended;
    child.stdout.destroy();
  });
});

describe("a journal", () => {
  test("keeps a call that the client cannot be asked about, until a person decides and the result is collected", async () => {
    const journal = join(folder, "door.db");
    const door = openLineDoor(doorArgs("--journal", journal));
    await door.send(INITIALIZE);
    const { result } = await door.send(programCall("return tools.bank.pay({ cents: 7 })"));
    const said = JSON.stringify(result).replaceAll(String.raw`\"`, '"');
    expect(said).toContain("bank.pay (call 1)");
    const [, execution = ""] = /portcullis decide (mcp-\S+) 1 --allow --journal /.exec(said) ?? [];
    const collect = (from: LineDoor) =>
      from.send({ method: "tools/call", params: { name: "result", arguments: { execution } } });
    expect(JSON.stringify((await collect(door)).result)).toContain("waits for the approval");
    door.child.stdin.end();
    await door.ended;
    expect((await portcullis(["decide", execution, "1", "--allow", "--journal", journal])).code).toBe(0);

    const later = openLineDoor(doorArgs("--journal", journal));
    await later.send(INITIALIZE);
    const collected = (await collect(later)).result;
    expect(collected).toEqual({ content: [{ type: "text", text: '"paid 7"' }] });
    expect((await collect(later)).result).toEqual(collected);
    const statement = await later.send({ method: "tools/call", params: { name: "bank-statement", arguments: {} } });
    expect(JSON.stringify(statement.result)).toContain(String.raw`{\"paid\":[7],\"hanging\":0,\"stopped\":0}`);
    later.child.stdin.end();
    await later.ended;
  });
});
