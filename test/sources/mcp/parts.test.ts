import * as fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { credentialsOf, ServerText } from "../../../src/sources/mcp/clean-credentials.ts";
import { type ListReader, ToolListBuilder, toolsOf, unassignedOf } from "../../../src/sources/mcp/make-tools.ts";
import { runs, testOfAll } from "../../support/all-tests.ts";
import { countTurns } from "../../support/count-turns.ts";
import { READ } from "./servers.ts";
import { failing } from "../../support/failing.ts";

// ---- lists -------------------------------------------------------------------------------------------------------

test("whatever a server lists, the rest of the list stands, and every entry is a tool or a problem", async () => {
  const good = { name: "good", inputSchema: { type: "object" } };
  const entry = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.record(
      {
        name: fc.oneof(fc.string(), fc.constantFrom("good", "__proto__", "a-b", "a_b", "a", "a.b")),
        description: fc.oneof(fc.string(), fc.jsonValue({ maxDepth: 1 })),
        inputSchema: fc.oneof(fc.constant({ type: "object" }), fc.jsonValue({ maxDepth: 3 })),
        outputSchema: fc.jsonValue({ maxDepth: 3 }),
        annotations: fc.jsonValue({ maxDepth: 2 }),
      },
      { requiredKeys: ["name"] },
    ),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 8 }), async (entries) => {
      const all = [{ ...good, name: "surely.good" }, ...(JSON.parse(JSON.stringify(entries)) as unknown[])];
      const call = async () => {};
      const { tools, problems, unassigned } = await listOf({ source: "s", policies: READ, timeoutMs: 1000, call }, all);
      expect(tools.map(({ name }) => name)).toContain("s.surely.good");
      const out = problems.filter((problem) => problem.includes(" is left out: "));
      expect(tools.length + out.length + unassigned.length).toBe(all.length);
      expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
    }),
    { numRuns: runs(100) },
  );
});

async function listOf(reader: ListReader, entries: readonly unknown[]) {
  const builder = new ToolListBuilder(reader);
  await builder.add(entries);
  const { entries: made, problems } = await builder.finish();
  return { tools: toolsOf(made), unassigned: unassignedOf(made), problems };
}

testOfAll("other work has the thread between the entries of a list, however few and large they are", async () => {
  const field = { type: "object", properties: { a: { type: "string" } } };
  const properties = Object.fromEntries(Array.from({ length: 3000 }, (_, n) => [`f${n}`, field]));
  const entries = Array.from({ length: 40 }, (_, n) => ({
    name: `t${n}`,
    inputSchema: { type: "object", properties },
  }));
  const turns = countTurns();
  const { tools } = await listOf({ source: "s", policies: READ, timeoutMs: 1000, call: async () => 1 }, entries);
  const counted = turns();
  expect(tools).toHaveLength(40);
  expect(counted).toBeGreaterThanOrEqual(40);
});

// ---- credentials -------------------------------------------------------------------------------------------------

describe("the text of a server", () => {
  const given = {
    env: { KEY: "env-0123456789", FLAG: "true" },
    headers: {
      authorization: "Bearer header/0123456789",
      "x-other": `Basic ${Buffer.from("user:pass-0123456789").toString("base64")}`,
    },
    url: "https://example.com/mcp?key=query-0123456789",
    args: ["--api-key", "arg-0123456789", "--token=eq=0123456789", "/home/folder"],
  };
  const text = new ServerText(credentialsOf(given));

  test.each([
    ["env-0123456789"],
    ["header/0123456789"],
    ["Bearer header/0123456789"],
    ["header%2F0123456789"],
    ["pass-0123456789"],
    ["user:pass-0123456789"],
    ["query-0123456789"],
    ["arg-0123456789"],
    ["eq=0123456789"],
  ])("is quoted without %s", (secret) => {
    expect(text.quote(`before ${secret} after`)).toBe("before [secret] after");
  });

  test("keeps short values and folders", () => {
    expect(text.quote("true: /home/folder")).toBe("true: /home/folder");
  });

  test("has no half of a credential at the edges of what is quoted", () => {
    for (const padding of [2000, 4080, 4096, 256 * 1024 - 7, 256 * 1024 - 1]) {
      const quoted = text.quote(`${"x".repeat(padding)}env-0123456789${"y".repeat(10_000)}`);
      expect(quoted).not.toContain("0123");
      expect(quoted).not.toMatch(/env-/);
      expect(Buffer.byteLength(quoted)).toBeLessThan(4200);
    }
  });
});

// ---- the package -------------------------------------------------------------------------------------------------

describe("without the package of the protocol", () => {
  afterEach(() => {
    vi.doUnmock("@modelcontextprotocol/client");
    vi.resetModules();
  });

  test("fromMcp says what to install", async () => {
    vi.resetModules();
    vi.doMock("@modelcontextprotocol/client", () => {
      throw new Error("Cannot find package");
    });
    const { fromMcp } = await import("../../../src/sources/mcp/from-mcp.ts");
    await expect(fromMcp({ name: "a", command: "true" })).rejects.toMatchObject(
      failing("source_unavailable", "npm install @modelcontextprotocol/client"),
    );
  });
});
