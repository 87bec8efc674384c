import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openServerProcess } from "../../../serve/processes.ts";
import { begin, portcullis, root } from "../../command.ts";
import { newFolder } from "../../../support/new-folder.ts";

const folder = newFolder();
const keys = join(folder, "keys.json");

const run = (...args: readonly string[]) => portcullis(args);

test("a gateway, whose clients bring their tools, starts by the first command of its document", async () => {
  const document = readFileSync(join(root, "docs/gateway.md"), "utf8");
  const [, key = "", args = ""] = /^OPENAI_API_KEY=(\w+) portcullis (serve .*)$/m.exec(document) ?? [];
  const { until, hear, finished } = begin([...args.split(" "), "--port", "0"], "", {
    cwd: folder,
    environment: { OPENAI_API_KEY: key },
  });
  await until("serving at");
  hear("SIGTERM");
  expect((await finished).code).toBe(0);
});

test("a key is shown once, stored as a hash for its owner alone, opens the server, is named in its log, and is refused once it is out of the file", async () => {
  const added = await run("key", "add", "ann", "--keys", keys, "--tenant", "acme");
  const key = added.stdout.trim();
  expect(key).toMatch(/^[\w-]{43}$/);
  expect(readFileSync(keys, "utf8")).not.toContain(key);
  // oxlint-disable-next-line no-bitwise -- the bits of a mode
  expect(statSync(keys).mode & 0o777).toBe(0o600);
  await run("key", "add", "bob", "--keys", keys, "--scope", "read");
  expect((await run("key", "add", "x", "--keys", keys, "--scope", "all")).code).toBe(2);

  await using server = await openServerProcess("--keys", keys, "--log");
  const ask = async (path: string, body?: object) =>
    fetch(`${server.url}${path}`, {
      method: body ? "POST" : "GET",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: body ? JSON.stringify(body) : null,
    });
  expect((await ask(`/v1/executions/${encodeURIComponent("\u009b2J\u202e")}`)).status).toBe(404);
  expect((await ask("/v1/executions", { program: "return 'contents'" })).status).toBe(200);
  await expect.poll(() => linesOf(server.said()).length).toBe(2);
  const [unknown, ran] = linesOf(server.said());
  expect(unknown).toContain('"execution":"\\u009b2J\\u202e"');
  expect(JSON.parse(ran ?? "")).toMatchObject({ method: "POST", path: "/v1/executions", status: 200, key: "ann" });
  for (const secret of [key, "contents"]) expect(server.said()).not.toContain(secret);
  const { keys: all } = JSON.parse(readFileSync(keys, "utf8")) as { readonly keys: readonly { readonly id: string }[] };
  writeFileSync(keys, JSON.stringify({ keys: all.filter(({ id }) => id !== "ann") }));
  await expect.poll(async () => (await ask("/v1/executions")).status).toBe(401);
});

const linesOf = (said: string) => said.split("\n").filter((line) => line.startsWith("{"));
