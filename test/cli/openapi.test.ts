import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { sendJson, specOf, startServer } from "../sources/openapi/api-server.ts";
import { newFolder } from "../support/new-folder.ts";
import { portcullis as command } from "./command.ts";

const environment = { SHOP_KEY: "key-from-the-environment" };
const portcullis = (args: readonly string[]) => command(args, "", { environment });

const folder = newFolder();
beforeAll(() => {
  writeFileSync(join(folder, "api.yaml"), JSON.stringify(SPEC));
  writeFileSync(join(folder, "program.js"), "return await tools.shop.orders.get({ id: 7 })");
});

const SPEC = specOf({
  "/orders/{id}": {
    get: { operationId: "orders/get", parameters: [{ name: "id", in: "path", schema: { type: "integer" } }] },
    delete: { operationId: "orders/cancel", parameters: [{ name: "id", in: "path", schema: { type: "integer" } }] },
    trace: { operationId: "orders/trace" },
  },
});

let files = 0;
function file(content: unknown): string {
  files += 1;
  const path = join(folder, `api-${files}.json`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const API = { name: "shop", spec: "api.yaml", baseUrl: "http://127.0.0.1:9" };
const READ = { allowedCallers: ["programmatic"], tools: { "orders.cancel": false } };
const run = (path: string, ...more: readonly string[]) =>
  portcullis(["run", join(folder, "program.js"), "--openapi", path, ...more]);

describe("portcullis run --openapi", () => {
  test.each(["openapi", "swagger"])(
    "given the document itself (%s), says which file to write beside it",
    async (word) => {
      const { code, stderr } = await run(file({ [word]: "3.1.0", info: {}, paths: {} }));
      expect(code).toBe(2);
      expect(stderr).toMatch(/this is the document itself.*\{"name":"api","spec":"api-\d+\.json","baseUrl":/);
    },
  );

  test("runs a program with the operations of an API, with credentials from the environment", async () => {
    await using server = await startServer((request, response) =>
      sendJson(response, { id: 7, key: request.headers["x-key"] }),
    );
    const auth = { apiKey: { in: "header", name: "X-Key", value: "${SHOP_KEY}" } };
    const path = file({ ...API, baseUrl: server.baseUrl, auth, portcullis: READ });
    const { code, stdout, stderr } = await run(path);
    expect([code, JSON.parse(stdout)]).toEqual([0, { id: 7, key: "[secret]" }]);
    expect(server.arrived).toMatchObject([
      { method: "GET", url: "/orders/7", headers: { "x-key": "key-from-the-environment" } },
    ]);
    expect(stderr).toContain(
      `1 could not be taken over as a whole: portcullis tools --openapi ${path} --check lists them.`,
    );
  });

  test("is checked: what became of each operation of the document, and why one is no tool", async () => {
    const path = file({ ...API, portcullis: READ });
    const { code, stdout } = await portcullis(["tools", "--openapi", path, "--check"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^document +operations +tools +no caller +left out\n.*\nshop +3 +1 +1 +1\n\n1 tool may be called\.\n/m,
    );
    expect(stdout).toContain("  shop.orders.trace (TRACE /orders/{id}) is left out: its method is TRACE");
    const json = await portcullis(["tools", "--openapi", path, "--check", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      documents: [{ source: "shop", operations: 3, tools: 1, withoutCaller: 1, leftOut: 1 }],
    });
  });

  test("--allow says who may call where the file does not", async () => {
    await using server = await startServer();
    const { code, stdout } = await run(file({ ...API, baseUrl: server.baseUrl }), "--allow", "shop.orders.get=read");
    expect([code, JSON.parse(stdout)]).toEqual([0, { ok: true }]);
  });

  test("--allow gives no caller what the file leaves to none", async () => {
    const path = file({ ...API, portcullis: { tools: { "orders.get": false } } });
    const { code, stderr } = await run(path, "--allow", "shop.*=write");
    expect([code, stderr]).toEqual([1, expect.stringContaining("failed: 0 calls")]);
  });

  test("a call that waits for approval is made by another process, with credentials that no journal has", async () => {
    await using server = await startServer();
    const journal = ["--journal", join(folder, "journal.db")];
    const auth = { bearer: "${SHOP_KEY}" };
    const portcullisKey = { allowedCallers: ["programmatic"], approval: "always" };
    const path = file({ ...API, baseUrl: server.baseUrl, auth, portcullis: portcullisKey });
    const waits = await run(path, ...journal, "--id", "order-7");
    expect([waits.code, server.arrived]).toEqual([6, []]);
    expect((await portcullis(["decide", "order-7", "1", "--allow", ...journal])).code).toBe(0);
    const ended = await portcullis(["resume", "order-7", "--openapi", path, ...journal]);
    expect([ended.code, JSON.parse(ended.stdout)]).toEqual([0, { ok: true }]);
    expect(server.arrived).toMatchObject([{ headers: { authorization: "Bearer key-from-the-environment" } }]);
    const { stdout } = await portcullis(["journal", "export", "order-7", ...journal]);
    expect(stdout).toContain("shop.orders.get");
    expect(stdout).not.toContain("key-from-the-environment");
  });
});
