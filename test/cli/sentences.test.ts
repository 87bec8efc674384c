import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, createSqliteJournal } from "portcullis";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test } from "vitest";
import { specOf } from "../sources/openapi/api-server.ts";
import { holdSentences } from "../support/sentences.ts";
import { newFolder } from "../support/new-folder.ts";
import { pay } from "../support/tools.ts";
import { fixtures, portcullis, root } from "./command.ts";

const folder = newFolder();
const TOOLS = ["--tools", join(fixtures, "tools.ts")];
const JOURNAL = ["--journal", join(folder, "j.db")];
const OPEN = join(folder, "open.db");
const MODEL = ["--model", join(fixtures, "chat-model.ts")];
/** What the command line finds in its variables. */
const environment = { ANTHROPIC_API_KEY: "", OPENAI_API_KEY: "", GEMINI_API_KEY: "", DOCKER_HOST: "unix:///nowhere" };

let files = 0;
/** A file with this content; what is no text is written as JSON. */
function file(content: unknown, name = `file-${(files += 1)}.json`): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content));
  // What others can read is told of, whatever the mask of this process.
  chmodSync(path, 0o644);
  return path;
}

const PROGRAM = "return await tools.echo({})";
const TASK = { question: "What?", program: "program.js", answer: 7 };
const task = file(TASK, "task.json");
const bench = (...options: readonly string[]) => ["", "bench", ...options] as const;
const benchOf = (content: unknown) => bench(...TOOLS, "--task", file(content));
const run = (...options: readonly string[]) => ["return 1;", "run", "-", ...options] as const;
const runOf = (module: string) => run("--tools", join(fixtures, module));
const grant = (given: string) => ["", "decide", "open", "1", "--allow", "--grant", given, "--journal", OPEN] as const;
const agent = (fields: string) => [
  "--agent",
  file(`---\nname: a\ndescription: b\n${fields}---\nBe brief.\n`, `${(files += 1)}.md`),
];
const ask = (...options: readonly string[]) => ["", "ask", "x", ...TOOLS, ...options] as const;
const tools = (...options: readonly string[]) => ["", "tools", ...options] as const;
const server = { raw: { url: "http://127.0.0.1:9", headers: { T: "${NOT_SET_HERE}" } } };
const api = (change: object) => {
  file(specOf({ "/orders/{id}": { get: { operationId: "orders/get" } } }), "api.yaml");
  const policy = { allowedCallers: ["programmatic"] };
  return tools(
    "--openapi",
    file({ name: "shop", spec: "api.yaml", baseUrl: "http://127.0.0.1:9", portcullis: policy, ...change }),
  );
};
const mcp = (...options: readonly string[]) => ["", "mcp", ...TOOLS, ...options] as const;
const mcpKey = (key: unknown) => mcp("--http", "0", "--keys", file({ keys: [key] }));
const KEY = { id: "a", key: "0123456789abcdef", tenant: "t" };

/** Commands that are refused, each for another reason, and what is on their standard input. */
const refused = (): readonly (readonly [input: string, ...args: string[]])[] => [
  ["", "none"],
  ["", "chta"],
  ["", "key", "ad"],
  ["", "journal", "prun"],
  ["", "run"],
  ["", "run", "--", "--help"],
  run(...TOOLS, "--limit", "cpuMs=0"),
  run(...TOOLS, "--limit", "calls=-1"),
  run(...TOOLS, "--frobnicate"),
  run(...TOOLS, "--language", "cobol"),
  run(...TOOLS, "--approve", "maybe"),
  run(...TOOLS, "--journal", " "),
  run(...TOOLS, "--result", ""),
  run(...TOOLS, "--artifacts", join(folder, "program.py")),
  run(...TOOLS, ...JOURNAL, "--corrects", "never"),
  run("--corrects", "first"),
  run("--max-age", "30s"),
  run(...TOOLS, "--sandbox", "docker"),
  runOf("throws.ts"),
  runOf("no-default.ts"),
  runOf("not-tools.ts"),
  runOf("duplicates.ts"),
  run("--tools", file("throw { toString() { throw 1; } };", "odd.mjs")),
  ["x".repeat(5_000_000), "run", "-", ...TOOLS],
  ["", "run", join(folder, "program.py"), ...TOOLS],
  ["", "run", join(folder, "none.js"), ...TOOLS],
  ["", "run", "examples/start/progam.js", ...TOOLS],
  ["", "run", file(Buffer.from("return 'ü';", "latin1"), "latin.js"), ...TOOLS],
  ["", "run", file(Buffer.from("//\u20ac").subarray(0, 4), "cut.js"), ...TOOLS],
  ["", "run", file(Buffer.alloc(5_000_000, 0xff), "binary"), ...TOOLS],
  ["", "run", "/dev/zero", ...TOOLS],
  tools(),
  tools("--tools", join(folder, "tools.tss")),
  tools("--tools", folder),
  tools("--tools", "a".repeat(300)),
  tools("--mcp", "/no/such.json"),
  tools("--mcp", file({ mcpServers: server })),
  tools("--mcp", file({ mcpServers: { a: { command: "no-such-command" } } })),
  tools("--openapi", join(folder, "none.json")),
  tools("--openapi", file("{")),
  api({ baseURL: "x" }),
  api({ spec: "https://x.example/openapi.json" }),
  api({ auth: { bearer: "${SHOP_TOKEN}" } }),
  api({ portcullis: { allowedCallers: ["programmatic"], tools: { "orders.gett": {} } } }),
  tools("zeppelin", ...TOOLS),
  ask("--model", "none:m"),
  ask("--model", "anthropic:m", "--set", "maxTurns=0"),
  ask("--model", "anthropic:m", "--answer", "README.md"),
  ask("--model", "anthropic:m", "--base-url", "nowhere"),
  ask("--model", "anthropic:m", "--base-url", "http://a,b"),
  ...["anthropic", "openai", "gemini"].map((provider) => ask("--model", `${provider}:m`)),
  ask(),
  ask(...agent("")),
  ask(...agent("model: opus\n")),
  ask(...agent("shell: yes\n"), ...MODEL),
  ask(...agent(""), "--instructions", `${root}README.md`, ...MODEL),
  ["x", "chat"],
  ["x", "chat", ...MODEL, "--id", "x"],
  ["x", "chat", ...MODEL, "--approve", "later"],
  bench("nowhere"),
  bench("--task", task),
  bench("capital", ...TOOLS, "--task", task),
  benchOf("{"),
  benchOf({ ...TASK, anser: 1 }),
  benchOf({ ...TASK, program: "vast.js" }),
  bench(...TOOLS, "--task", folder),
  bench("capital", "--limit", "call=1"),
  bench("--live"),
  bench("capital", "--live", "--model", "nobody:gpt-6-sol", "--max-tokens", "1"),
  bench("--live", "--max-tokens", "1", "--model", "antropic:claude-opus-5-5"),
  bench("capital", "--live", "--model", "openai:gpt-6-sol"),
  ["", "image", "build"],
  ["", "demo", "licenses", "--sandbox", "docker"],
  ["", "worker", "--journal", "journal.db"],
  ["", "worker", "--journal", "postgres://a@b/c", "--host", "0.0.0.0"],
  ["", "worker", "--journal", "postgres://a@b/c", "--metrics", "0", "--host", "0.0.0.0"],
  ["", "worker", "--journal", "postgres://a@b/c", "--set", "leaseMs=5"],
  ["", "serve", "--workers", "elsewhere", "--port", "0"],
  ["", "serve", ...TOOLS, "--host", "0.0.0.0"],
  ["", "serve", ...TOOLS, "--port", "none"],
  ["", "serve", ...TOOLS, "--drain", "none"],
  ["", "serve", ...TOOLS, "--set", "concurrency=none"],
  ["", "mcp"],
  mcp("--http", "99999"),
  mcp("--keys", "k.json"),
  mcp("--http", "0", "--host", "0.0.0.0"),
  mcp("--http", "0", "--keys", file("{")),
  mcp("--approve", "later"),
  mcpKey({ ...KEY, tools: ["no.such"] }),
  mcpKey({ ...KEY, key: "secret" }),
  mcpKey({ ...KEY, key: "the secret of a key" }),
  mcpKey({ ...KEY, key: undefined, hash: "the secret of a key" }),
  mcpKey("the secret of a key"),
  ["\n{\n", "journal", "import", ...JOURNAL],
  ["", "journal", "prune", "--older-than", "tomorrow", ...JOURNAL],
  ["", "show"],
  ["", "show", "never", ...JOURNAL],
  ["", "show", "never", ...JOURNAL, "--json", "--follow"],
  ["", "show", "--journal", join(folder, "none.db")],
  ["", "show", "--journal", folder],
  ["", "show", "--journal", file("no database ".repeat(1000), "text.db")],
  ["", "show", "x", "--journal", "mysql://ana:s3cret@h/db"],
  ["", "decide", "never", "1", "--allow", ...JOURNAL],
  ["", "decide", "open", "1", "--allow", "--deny", "--journal", OPEN],
  ["", "decide", "open", "9", "--allow", "--journal", OPEN],
  ["", "decide", "open", "1", "--done", '{"id":9007199254740993}', "--journal", OPEN],
  ["", "decide", "open", "1", "--done", '{"id":1,"id":2}', "--journal", OPEN],
  ["", "decide", "open", "1", "--done", "{id}", "--journal", OPEN],
  ...["{calls: 5}", "5", "{}", '{"sums":{"/euros":-1}}', '{"calls":0}', '{"call":5}'].map(grant),
  grant('{"calls":5,"input":{"type":"object"}}'),
  ["", "resume", "open", ...TOOLS, "--result", "units", "--journal", OPEN],
  ["", "resume", "open", ...TOOLS, "--result", "3=[1e999]", "--journal", OPEN],
  ["", "init", folder],
];

test("each command that is refused says why and what to do in one text, and does nothing", async () => {
  for (const name of ["program.py", "tools.ts", "program.js"]) file(PROGRAM, name);
  file(" ".repeat(17 * 1024 * 1024), "vast.js");
  using journal = createSqliteJournal({ path: OPEN });
  const options = { tools: [pay], journal, sandbox: createMemorySandbox(), approve: () => "later" as const };
  await using runtime = await createRuntime(options);
  await runtime.execute("return tools.pay({});", { id: "open" });
  const { records } = await journal.find("open");
  await holdSentences(
    refused().map(([input, ...args]) => async () => {
      const key = args.includes("--base-url") ? { ANTHROPIC_API_KEY: "any" } : {};
      const { code, stdout, stderr } = await portcullis(args, input, { environment: { ...environment, ...key } });
      return `exit ${code}: ${stderr}${stdout}`.replaceAll(root, "ROOT/").replaceAll(/\n +at .*|a{299}/g, "");
    }),
  );
  expect((await journal.find("open")).records).toBe(records);
});
