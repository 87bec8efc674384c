import { afterAll, beforeAll, describe, expect, test } from "vitest";

const SCOPES = ["run", "decide", "read", "converse", "admin"] as const;
const secretOf = (id: string) => `${id}-0123456789abcdef`;
const key = (id: string, more: object = {}) => ({ id, key: secretOf(id), tenant: "acme", ...more });
const ALL = [
  ...SCOPES.map((scope) => key(scope, { scopes: [scope] })),
  key("usual"),
  key("every", { scopes: SCOPES }),
  key("expired", { scopes: SCOPES, expires: "2020-01-01T00:00:00Z" }),
];

export interface Keys {
  readonly keys: readonly object[];
}

/** A server with all paths, and one with those of MCP alone, that have the same keys. */
export interface OpenDoors extends AsyncDisposable {
  readonly server: string;
  readonly door: string;
  readonly change: (keys: Keys) => void;
}

/** What the requests of each key may do, written by hand. */
const MAY: Readonly<Record<string, readonly string[]>> = {
  run: ["run"],
  decide: ["decide"],
  read: ["read"],
  converse: ["converse"],
  admin: ["admin"],
  usual: ["run", "read"],
  every: SCOPES,
};

/** What each path needs, written by hand. */
export const NEEDS: Readonly<Record<string, string>> = {
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
  "POST /v1/conversations/:id": "converse",
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

const CALL = {
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "run_program", arguments: { code: "return 1" } },
};

/** What the requests of each key may do at both doors. */
export function describeRights(open: (keys: Keys) => Promise<OpenDoors>): void {
  let doors: OpenDoors;
  beforeAll(async () => {
    doors = await open({ keys: ALL });
  });
  afterAll(() => doors[Symbol.asyncDispose]());

  async function statusOf(door: "server" | "door", path: string, secret: string | undefined): Promise<number> {
    const [method = "", route = ""] = path.split(" ");
    const response = await fetch(`${doors[door]}${route.replaceAll(/:\w+/g, "x")}`, {
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

  describe.each(["server", "door"] as const)("%s", (door) => {
    const isServed = (path: string) => door === "server" || path.endsWith("/mcp");

    test.each(Object.entries(NEEDS))("%s needs %s", async (path, needed) => {
      for (const secret of [undefined, "", secretOf("nobody"), secretOf("expired")]) {
        const status = await statusOf(door, path, secret);
        expect(status === 401, `key ${secret}: ${status}`).toBe(!(isServed(path) && needed === "none"));
      }
      for (const [id, scopes] of Object.entries(MAY)) {
        const status = await statusOf(door, path, secretOf(id));
        if (!isServed(path)) expect(status, id).toBe(404);
        else if (["none", "any"].includes(needed) || scopes.includes(needed))
          expect([401, 403, 500], id).not.toContain(status);
        else expect(status, id).toBe(403);
      }
    });
  });

  test("a key that is taken out, and one whose scopes change, lose what they had at both doors", async () => {
    const left = ALL.filter(({ id }) => id !== "run");
    doors.change({ keys: left.map((one) => (one.id === "usual" ? { ...one, scopes: ["admin"] } : one)) });
    for (const door of ["server", "door"] as const) {
      await expect.poll(() => statusOf(door, "POST /mcp", secretOf("run"))).toBe(401);
      expect(await statusOf(door, "POST /mcp", secretOf("usual"))).toBe(403);
      expect([401, 403]).not.toContain(await statusOf(door, "POST /mcp", secretOf("every")));
    }
  });
}
