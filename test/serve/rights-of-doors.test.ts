import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROUTES } from "../../src/serve/api/routes.ts";
import { openHttpDoor } from "./mcp/doors.ts";
import { openServerProcess } from "./processes.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-doors-"));
const file = join(folder, "keys.json");
const secretOf = (id: string) => `${id}-0123456789abcdef`;
const SCOPES = ["run", "decide", "read", "converse", "admin"] as const;
const key = (id: string, more: object = {}) => ({ id, key: secretOf(id), tenant: "acme", ...more });
const ALL = [
  ...SCOPES.map((scope) => key(scope, { scopes: [scope] })),
  key("usual"),
  key("every", { scopes: SCOPES }),
  key("expired", { scopes: SCOPES, expires: "2020-01-01T00:00:00Z" }),
];
const write = (keys: readonly object[]) => writeFileSync(file, JSON.stringify({ keys }), { mode: 0o600 });

/** What the requests of each key may do, written by hand. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  run: ["run"],
  decide: ["decide"],
  read: ["read"],
  converse: ["converse"],
  admin: ["admin"],
  usual: ["run", "decide", "read"],
  every: SCOPES,
};

/** What each path needs, written by hand. */
const NEEDS: Readonly<Record<string, string>> = {
  "POST /v1/executions": "run",
  "GET /v1/executions": "read",
  "GET /v1/executions/:id": "read",
  "GET /v1/executions/:id/view": "read",
  "GET /v1/executions/:id/calls/:call": "read",
  "GET /v1/executions/:id/artifacts/:name": "read",
  "GET /v1/executions/:id/events": "read",
  "GET /v1/executions/:id/view/events": "read",
  "POST /v1/executions/:id/decisions": "decide",
  "POST /v1/executions/:id/results": "decide",
  "POST /v1/executions/:id/cancel": "run",
  "GET /v1/tools": "run",
  "GET /v1/tools/search": "run",
  "GET /v1/models": "converse",
  "POST /v1/conversations": "converse",
  "GET /v1/conversations/:id": "read",
  "POST /v1/conversations/:id": "converse",
  "GET /v1/conversations/:id/events": "read",
  "POST /v1/conversations/:id/interrupt": "converse",
  "POST /v1/conversations/:id/end": "converse",
  "GET /healthz": "none",
  "GET /readyz": "any",
  "GET /metrics": "admin",
  "GET /openapi.json": "any",
  "GET /": "none",
  "GET /page.js": "none",
  "POST /mcp": "run",
  "GET /mcp": "run",
  "DELETE /mcp": "run",
};

interface Door extends AsyncDisposable {
  readonly url: string;
  readonly paths: ReadonlySet<string>;
}

const doors: Record<string, Door> = {};
beforeAll(async () => {
  write(ALL);
  const [server, mcp] = await Promise.all([openServerProcess("--keys", file), openHttpDoor("--keys", file)]);
  doors["portcullis serve"] = {
    url: server.url,
    paths: new Set(Object.keys(NEEDS)),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
  doors["portcullis mcp --http"] = {
    url: new URL(mcp.url).origin,
    paths: new Set(Object.keys(NEEDS).filter((path) => path.endsWith("/mcp"))),
    [Symbol.asyncDispose]: () => mcp[Symbol.asyncDispose](),
  };
}, 60_000);
afterAll(async () => {
  await Promise.all(Object.values(doors).map((door) => door[Symbol.asyncDispose]()));
  rmSync(folder, { recursive: true, force: true });
});

const CALL = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "run_program", arguments: { code: "return 1" } },
};

async function statusOf(door: string, path: string, secret: string | undefined): Promise<number> {
  const [method = "", route = ""] = path.split(" ");
  const response = await fetch(`${doors[door]?.url}${route.replaceAll(/:\w+/g, "x")}`, {
    method,
    headers: {
      ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    ...(method === "POST" ? { body: JSON.stringify(route === "/mcp" ? CALL : {}) } : {}),
  });
  await response.body?.cancel();
  return response.status;
}

test("the table has each route of the server", () => {
  expect(Object.keys(NEEDS)).toEqual(expect.arrayContaining(ROUTES.map(({ method, path }) => `${method} ${path}`)));
});

describe.each(["portcullis serve", "portcullis mcp --http"])("%s", (door) => {
  test.each(Object.entries(NEEDS))("%s needs %s", async (path, needed) => {
    const isServed = doors[door]?.paths.has(path) ?? false;
    for (const secret of [undefined, "", secretOf("nobody"), secretOf("expired")]) {
      const status = await statusOf(door, path, secret);
      expect(status, `key ${secret}`)[isServed && needed === "none" ? "toBeLessThan" : "toBe"](401);
    }
    for (const [id, scopes] of Object.entries(MAY)) {
      const status = await statusOf(door, path, secretOf(id));
      if (!isServed) expect(status, id).toBe(404);
      else if (["none", "any"].includes(needed) || scopes.includes(needed))
        expect([401, 403, 500], id).not.toContain(status);
      else expect(status, id).toBe(403);
    }
  });
});

test("a key that is taken out of the file, and one whose scopes change, lose what they had at both doors", async () => {
  write(ALL.filter(({ id }) => id !== "run").map((one) => (one.id === "usual" ? { ...one, scopes: ["admin"] } : one)));
  for (const door of Object.keys(doors)) {
    await expect.poll(() => statusOf(door, "POST /mcp", secretOf("run"))).toBe(401);
    expect(await statusOf(door, "POST /mcp", secretOf("usual"))).toBe(403);
    expect([401, 403]).not.toContain(await statusOf(door, "POST /mcp", secretOf("every")));
  }
}, 60_000);
