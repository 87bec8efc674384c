import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fromMcpConfig } from "../../../src/index.ts";
import { parseKeys } from "../../../src/serve/http/keys.ts";
import { root } from "../../cli/command.ts";
import { newFolder } from "../../support/new-folder.ts";

const blocks = [...readFileSync(join(root, "docs/mcp.md"), "utf8").matchAll(/^```json\n([^]*?)^```$/gm)].map(
  ([, text = ""]) => text,
);
const entries = blocks.filter((text) => text.includes('"portcullis", "mcp"'));

const folder = newFolder();

async function sourcesOf(text: string): Promise<readonly string[]> {
  const file = join(folder, "mcp.json");
  writeFileSync(file, text);
  await using config = await fromMcpConfig(file);
  return config.sources.map(({ name }) => name);
}

test("the entries that the document adds to clients are skipped as the door's own", async () => {
  expect(entries).toHaveLength(2);
  for (const entry of entries) expect(await sourcesOf(entry)).toEqual([]);
});

describe("an entry that starts the door is skipped in whatever way it does", () => {
  test.each([
    ["npx", ["portcullis", "mcp", "--mcp", ".mcp.json"]],
    ["npx", ["-y", "portcullis@0.1.0", "mcp", "--mcp", ".mcp.json"]],
    ["npx", ["-y", "-p", "portcullis", "-p", "@modelcontextprotocol/server", "portcullis", "mcp"]],
    ["pnpm", ["dlx", "portcullis", "mcp"]],
    ["portcullis", ["mcp", "--tools", "tools.js"]],
    ["./node_modules/.bin/portcullis", ["mcp"]],
    ["node", ["/app/node_modules/portcullis/dist/src/cli.js", "mcp"]],
    ["cmd", ["/c", "npx", "portcullis", "mcp"]],
  ])("%s %j", async (command, args) => {
    expect(await sourcesOf(JSON.stringify({ mcpServers: { own: { command, args } } }))).toEqual([]);
  });
});

test("the keys of the document are keys", () => {
  const keys = blocks.find((text) => text.includes('"keys"')) ?? "";
  expect(parseKeys("docs/mcp.md", keys).all.map(({ id }) => id)).toEqual(["ann", "reports"]);
});
