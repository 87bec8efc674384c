/* Each source of tools once, with a program that calls one of its tools. Prints what the programs returned, by source. */
import { createServer } from "node:http";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createRuntime, fromMcp, fromMcpConfig, fromOpenApi, type Tool } from "portcullis";

const [mcpUrl = "", mcpToken = ""] = process.argv.slice(2);

async function returned(tools: readonly Tool[], program: string): Promise<unknown> {
  await using runtime = await createRuntime({ tools });
  const { outcome, output } = await runtime.execute(program);
  return outcome.type === "completed" ? outcome.value : output.text;
}

const api = createServer((request, response) => {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ path: request.url }));
}).listen(0, "127.0.0.1");
await once(api, "listening");
const address = api.address();
const baseUrl = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;

const READ = { allowedCallers: ["programmatic"], effect: "read" } as const;
const found: Record<string, unknown> = {};
const command = "node_modules/.bin/mcp-server-filesystem";
const folder = "node_modules/portcullis/docs";
const list = (name: string) =>
  `return (await tools.${name}.list_directory({ path: "." })).content.includes("sources.md");`;
{
  await using files = await fromMcp({ name: "files", command, args: [folder] }, READ);
  found["MCP over standard streams"] = await returned(files.tools, list("files"));
}
{
  const headers = { authorization: `Bearer ${mcpToken}` };
  await using sums = await fromMcp({ name: "sums", url: mcpUrl, headers }, READ);
  const text = await returned(sums.tools, "return await tools.sums.run_program({ code: 'return 1 + 2;' });");
  found["MCP over HTTP"] = text;
}
{
  const portcullis = { allowedCallers: ["programmatic"], effect: "read" };
  const server = { command: `./${command}`, args: [`./${folder}`], portcullis };
  writeFileSync(".mcp.json", JSON.stringify({ mcpServers: { notes: server } }));
  await using all = await fromMcpConfig(".mcp.json");
  found[".mcp.json"] = await returned(all.tools, list("notes"));
}

const response = { description: "ok", content: { "application/json": { schema: { type: "object" } } } };
const operation = { operationId: "getThing", responses: { 200: response } };
const info = { title: "things", version: "1" };
const YAML =
  "info: { title: things, version: '1' }\npaths:\n  /things:\n    get:\n      operationId: getThing\n      responses:\n        '200': { description: ok }\n";
const SPECS: Readonly<Record<string, string | object>> = {
  "OpenAPI 3.1, JSON": JSON.stringify({ openapi: "3.1.0", info, paths: { "/things": { get: operation } } }),
  "OpenAPI 3.0, YAML": `openapi: 3.0.3\n${YAML}`,
  "Swagger 2.0, JSON": {
    swagger: "2.0",
    info,
    paths: { "/things": { get: { operationId: "getThing", responses: { 200: { description: "ok" } } } } },
  },
  "Swagger 2.0, YAML": `swagger: '2.0'\n${YAML}`,
};
for (const [name, spec] of Object.entries(SPECS)) {
  await using source = await fromOpenApi({ name: "api", spec, baseUrl }, READ);
  found[name] = await returned(source.tools, "return (await tools.api.getThing({})).path;");
}
api.close();
process.stdout.write(JSON.stringify(found));
