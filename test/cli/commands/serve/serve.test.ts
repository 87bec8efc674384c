import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { cli, tools } from "../../../serve/mcp/doors.ts";
import { openServerProcess } from "../../../serve/processes.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-keys-"));
const keys = join(folder, "keys.json");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (...args: readonly string[]) =>
  new Promise<Ran>((resolve) => {
    execFile(process.execPath, ["--conditions=portcullis-source", cli, ...args], (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
  });

test("without keys an address that others can reach is refused before anything is opened", async () => {
  const { code, stderr } = await run("serve", "--tools", tools, "--host", "0.0.0.0");
  expect(code).toBe(2);
  expect(stderr).toContain("--keys");
});

test.each(["--port", "--drain", "--at-once", "--per-tenant", "--queue"])(
  "%s that is no number is refused by name",
  async (name) => {
    const { code, stderr } = await run("serve", "--tools", tools, name, "none");
    expect(code).toBe(2);
    expect(stderr).toContain(name);
  },
);

test(
  "a key is shown once, stored as a hash for its owner alone, opens the server, and is refused once it is revoked",
  { timeout: 60_000 },
  async () => {
    const added = await run("key", "add", "ann", "--keys", keys, "--tenant", "acme");
    const key = added.stdout.trim();
    expect(key).toMatch(/^[\w-]{43}$/);
    expect(readFileSync(keys, "utf8")).not.toContain(key);
    // oxlint-disable-next-line no-bitwise -- the bits of a mode
    expect(statSync(keys).mode & 0o777).toBe(0o600);
    await run("key", "add", "bob", "--keys", keys, "--scope", "read");
    const listed = await run("key", "list", "--keys", keys);
    expect(listed.stdout).toMatch(/ann +acme/);
    expect(listed.stdout).not.toContain(key);
    expect((await run("key", "add", "x", "--keys", keys, "--scope", "all")).code).toBe(2);

    await using server = await openServerProcess("--keys", keys);
    const ask = () => fetch(`${server.url}/v1/executions`, { headers: { authorization: `Bearer ${key}` } });
    expect((await ask()).status).toBe(200);
    expect((await run("key", "revoke", "ann", "--keys", keys)).code).toBe(0);
    await expect.poll(async () => (await ask()).status).toBe(401);
    expect((await run("key", "revoke", "ann", "--keys", keys)).code).toBe(2);
  },
);

test(
  "--log prints one line of JSON for each request, and an id that steers a terminal is escaped in it",
  { timeout: 60_000 },
  async () => {
    await using server = await openServerProcess("--log");
    await server.ask("GET", `/v1/executions/${encodeURIComponent("\u009b2J\u202e")}`);
    await server.ask("POST", "/v1/executions", { program: "return 'contents'" });
    await expect.poll(() => linesOf(server.said()).length).toBe(2);
    const [unknown, ran] = linesOf(server.said());
    expect(unknown).toContain('"execution":"\\u009b2J\\u202e"');
    expect(JSON.parse(ran ?? "")).toMatchObject({ method: "POST", path: "/v1/executions", status: 200, key: "token" });
    expect(server.said().replace(/#token=\S+/, "")).not.toContain(server.token);
    expect(server.said()).not.toContain("contents");
  },
);

const linesOf = (said: string) => said.split("\n").filter((line) => line.startsWith("{"));
