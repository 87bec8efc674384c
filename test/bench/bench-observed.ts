/*
 * `make bench-observed`: what types are worth that are learned from results. The tools of five MCP servers and of two APIs are
 * taken without the outputs that they declare, and are called; then it is counted
 *
 *   right   of the fields that were learned, the share that a later answer, or the API's document, has with that kind
 *   found   of the fields of that answer, or of those that the document requires, the share that was learned
 *   tokens  of the declarations of all tools before and after
 *   failed  programs of a scripted model that reads one field of each tool's result. Where it is shown a type, it reads the first
 *           field of it; where not, it guesses usual names (GUESSES) in turn, and reads the hint of a program that failed
 *
 * TOOLS bounds the tools of each API (60).
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRuntime, fromMcp, fromOpenApi, jsonSchema, type McpServer, type Runtime, type Tool } from "portcullis";
import { createMemorySandbox, scriptedModel } from "portcullis/testing";
import { readData } from "../../examples/read-data.ts";
import { type Described, exampleOf } from "../../examples/github-openapi/server.ts";
import { countTokens } from "../../src/tools/count-tokens.ts";
import { MAX_LEVELS, type Shape, shapeOf } from "../../src/tools/observed/shape.ts";
import { schemaInText } from "../../src/tools/observed/shown-output.ts";
import { jsonSchemaOf } from "../../src/tools/tool-schemas.ts";
import { resolveReference } from "../../src/tools/json-schema/json-schema.ts";
import { markdown } from "./table.js";

const TOOLS = Number(process.env["TOOLS"] ?? 60);
const GUESSES = ["items", "data", "results", "id"];

const require = createRequire(import.meta.url);
const fileOf = (name: string, file: string) => join(dirname(require.resolve(`${name}/package.json`)), file);
const POLICY = { allowedCallers: ["programmatic"], effect: "read" } as const;

interface Source {
  readonly name: string;
  readonly tools: readonly Tool[];
  /** Inputs of each tool: from all but the last is learned. */
  readonly inputs: ReadonlyMap<string, readonly object[]>;
  /** Fields of results as a document declares them, by tool; undefined if the last answer says which there are. */
  readonly declared?: (tool: string) => { readonly all: ReadonlySet<string>; readonly required: ReadonlySet<string> };
}

// ---- fields ------------------------------------------------------------------------------------------------------

/** Fields as paths with kinds, like `.tickets[].id number`. Whole numbers are numbers, and null is any kind. */
function fieldsOfValue(value: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  const walk = (shape: Shape, path: string): void => {
    const { fields, items, json } = shape;
    if (items) walk(items, `${path}[]`);
    if (json) walk(json, path);
    for (const [name, of] of fields ?? []) {
      for (const kind of of.kinds.keys()) if (kind !== "null") found.add(`${path}.${name} ${plainKind(kind)}`);
      walk(of, `${path}.${name}`);
    }
  };
  walk(shapeOf(value), "");
  return found;
}

type Json = Readonly<Record<string, unknown>>;

/** The same of a schema. */
function fieldsOfSchema(root: Json) {
  const all = new Set<string>();
  const required = new Set<string>();
  const walk = (given: unknown, path: string, level: number, isRequired: boolean): void => {
    if (typeof given !== "object" || given === null || level > MAX_LEVELS || path.length > 300) return;
    let schema = given as Json;
    for (let at = 0; typeof schema["$ref"] === "string" && at < 8; at += 1)
      schema = (resolveReference(root, schema["$ref"]) ?? {}) as Json;
    for (const part of [schema["anyOf"], schema["oneOf"], schema["allOf"]].flat())
      walk(part, path, level, isRequired && part !== undefined && schema["allOf"] !== undefined);
    if (schema["items"]) walk(schema["items"], `${path}[]`, level, isRequired);
    const inner = schemaInText(schema);
    if (inner) walk(inner, path, level, isRequired);
    const names = (schema["required"] ?? []) as readonly string[];
    for (const [name, of] of Object.entries((schema["properties"] ?? {}) as Json)) {
      const own = isRequired && names.includes(name);
      for (const kind of kindsOf(root, of)) {
        all.add(`${path}.${name} ${kind}`);
        if (own) required.add(`${path}.${name} ${kind}`);
      }
      walk(of, `${path}.${name}`, level + 1, own);
    }
  };
  walk(root, "", 0, true);
  return { all, required };
}

function kindsOf(root: Json, given: unknown): readonly string[] {
  if (typeof given !== "object" || given === null) return [];
  const schema = given as Json;
  if (typeof schema["$ref"] === "string") return kindsOf(root, resolveReference(root, schema["$ref"]));
  const parts = [schema["anyOf"], schema["oneOf"], schema["allOf"]].flat().filter((part) => part !== undefined);
  const own = [schema["type"]].flat().filter((type): type is string => typeof type === "string" && type !== "null");
  return [...new Set([...own.map(plainKind), ...parts.flatMap((part) => kindsOf(root, part))])];
}

function plainKind(kind: string): string {
  return kind === "integer" ? "number" : kind;
}

// ---- sources -----------------------------------------------------------------------------------------------------

const folder = mkdtempSync(join(tmpdir(), "portcullis-observed-"));
for (const name of ["a.txt", "b.md", "c.json"]) writeFileSync(join(folder, name), `${name}\n`.repeat(20));

const server = (name: string, source: string, ...args: readonly string[]): McpServer => ({
  name: source,
  command: process.execPath,
  args: [fileOf(`@modelcontextprotocol/${name}`, "dist/index.js"), ...args],
});
const modern: McpServer = {
  name: "modern",
  command: process.execPath,
  args: [fileURLToPath(new URL("../sources/mcp/fixtures/modern-server.ts", import.meta.url))],
  protocol: "2026-07-28",
};

const entity = (name: string) => ({ name, entityType: "person", observations: ["is there"] });
const thought = (thoughtNumber: number) => ({
  thought: "so",
  thoughtNumber,
  totalThoughts: 3,
  nextThoughtNeeded: true,
});
const path = (name: string) => ({ path: join(folder, name) });

const SERVERS: readonly (readonly [McpServer, Readonly<Record<string, readonly object[]>>])[] = [
  [
    server("server-everything", "all"),
    {
      "all.echo": [{ message: "a" }, { message: "b" }],
      "all.get_sum": [
        { a: 1, b: 2 },
        { a: 3, b: 4 },
      ],
      "all.get_structured_content": [{ location: "Chicago" }, { location: "New York" }, { location: "Los Angeles" }],
      "all.get_resource_links": [{ count: 2 }, { count: 3 }],
      "all.get_tiny_image": [{}, {}],
    },
  ],
  [
    server("server-filesystem", "files", folder),
    {
      "files.read_text_file": [path("a.txt"), path("b.md"), path("c.json")],
      "files.list_directory": [{ path: folder }, { path: folder }],
      "files.directory_tree": [{ path: folder }, { path: folder }],
      "files.get_file_info": [path("a.txt"), path("b.md")],
      "files.list_allowed_directories": [{}, {}],
    },
  ],
  [
    { ...server("server-memory", "memory"), env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") } },
    {
      "memory.create_entities": [{ entities: [entity("ann")] }, { entities: [entity("bob")] }],
      "memory.read_graph": [{}, {}],
      "memory.search_nodes": [{ query: "ann" }, { query: "bob" }],
      "memory.open_nodes": [{ names: ["ann"] }, { names: ["ann", "bob"] }],
    },
  ],
  [
    server("server-sequential-thinking", "thinking"),
    { "thinking.sequentialthinking": [thought(1), thought(2), thought(3)] },
  ],
  [modern, { "modern.shout": [{ text: "a" }, { text: "b" }] }],
];

/** The tool as most servers declare it: without its output. */
const bare = (tool: Tool): Tool => ({ ...tool, output: undefined });

const DOCUMENTS = [
  ["GitHub", "../../examples/operations/api.github.com.json.br"],
  ["GitHub Enterprise Cloud, what it has more", "../fixtures/github-enterprise.json.br"],
] as const;

/** An API whose operations answer with the examples of its document. */
async function apiOf(name: string, file: string): Promise<Source> {
  const document = readData(new URL(file, import.meta.url)) as Described;
  const examples = new Map<string, unknown>();
  for (const operations of Object.values(document.paths)) {
    const { get } = operations;
    const example = get ? exampleOf(document, get) : undefined;
    if (typeof example === "object" && example !== null) examples.set(toolName(String(get?.["operationId"])), example);
  }
  await using source = await fromOpenApi(
    { name: "api", spec: document, baseUrl: "http://127.0.0.1:9", checkResults: false },
    POLICY,
  );
  const chosen = source.tools.filter((tool) => examples.has(tool.name) && tool.output);
  const step = Math.max(1, Math.floor(chosen.length / TOOLS));
  const all = chosen.filter((_, at) => at % step === 0).slice(0, TOOLS);
  const declared = new Map(
    all.map((tool) => [tool.name, fieldsOfSchema(jsonSchemaOf(tool.name, "output", tool.output as never))]),
  );
  return {
    name,
    tools: all.map((tool) => ({
      ...bare(tool),
      input: jsonSchema({ type: "object" }),
      handler: () => examples.get(tool.name),
    })),
    inputs: new Map(all.map((tool) => [tool.name, [{}, {}]])),
    declared: (tool) => declared.get(tool) ?? { all: new Set(), required: new Set() },
  };
}

function toolName(operation: string): string {
  const camel = (text: string) => text.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return `api.${operation.split("/").map(camel).join(".")}`;
}

// ---- measuring ---------------------------------------------------------------------------------------------------

const open = (tools: readonly Tool[], observeResults: boolean) =>
  createRuntime({
    tools,
    observeResults,
    sandbox: createMemorySandbox(),
    logger: { error() {} },
    stubTokens: 1_000_000,
  });

interface Sums {
  tools: number;
  learned: number;
  right: number;
  wanted: number;
  found: number;
  before: number;
  after: number;
  failedBefore: number;
  failedAfter: number;
}

async function measure({ tools, inputs, declared }: Source): Promise<Sums> {
  await using plain = await open(tools, false);
  await using runtime = await open(tools, true);
  const sums = { tools: 0, learned: 0, right: 0, wanted: 0, found: 0, failedBefore: 0, failedAfter: 0 };
  const last = new Map<string, unknown>();
  for (const [tool, given] of inputs) {
    for (const input of given.slice(0, -1)) await runtime.call({ tool, input, caller: "programmatic" });
    const answer = await plain.call({ tool, input: given.at(-1) ?? {}, caller: "programmatic" });
    if (!answer.ok) throw new Error(`${tool}: ${answer.message}`);
    last.set(tool, answer.value);
  }
  const seen = tools.filter(({ name }) => last.has(name));
  const whole = { budgetTokens: 10_000_000 };
  const [before, after] = [plain, runtime].map((one) => countTokens(one.declarations(whole)));
  for (const tool of seen) {
    const value = last.get(tool.name);
    const learned = fieldsOfSchema(runtime.shown(tool).observed?.schema ?? {}).all;
    const answered = fieldsOfValue(value);
    const truth = declared?.(tool.name) ?? { all: answered, required: answered };
    sums.tools += 1;
    sums.learned += learned.size;
    sums.right += [...learned].filter((one) => truth.all.has(one)).length;
    sums.wanted += truth.required.size;
    sums.found += [...truth.required].filter((one) => learned.has(one)).length;
    if (answered.size === 0) continue;
    const input = inputs.get(tool.name)?.at(-1) ?? {};
    sums.failedBefore += await failedPrograms(plain, tool.name, input);
    sums.failedAfter += await failedPrograms(runtime, tool.name, input);
  }
  return { ...sums, before: before ?? 0, after: after ?? 0 };
}

/** How many programs of the scripted model fail before it has read one field of a result. */
async function failedPrograms(runtime: Runtime, tool: string, input: object): Promise<number> {
  let guess = 0;
  let failed = 0;
  const write = (access: string) => ({
    programs: [`const r = await tools.${tool}(${JSON.stringify(input)}); return String(${access}).slice(0, 10);`],
  });
  const model = scriptedModel(
    Array.from({ length: GUESSES.length + 2 }, () => ({ opening, results }) => {
      const result = results.at(-1);
      if (result && !result.isError) return { text: "Read." };
      if (result) failed += 1;
      const stub = opening.runProgram?.description.split("\n").find((line) => line.startsWith(`tools.${tool}(`)) ?? "";
      const shown = accessOf(stub);
      if (shown !== undefined && !result) return write(shown);
      const told = /It has "([\w$-]+)"/.exec(result?.text ?? "")?.[1];
      if (told !== undefined) return write(`r[${JSON.stringify(told)}].toString()`);
      const name = GUESSES[guess];
      guess += 1;
      return name === undefined ? { text: "I give up." } : write(`r.${name}.toString()`);
    }),
  );
  await runtime.agent({ model, task: "Read it.", reuse: "never" });
  return failed;
}

/** How a program reads the first field of a result whose type is shown; undefined if nothing is shown. */
function accessOf(stub: string): string | undefined {
  const [, type = "", comment = ""] = /\): Promise<(.*)> \/\/ (observed.*)$/.exec(stub) ?? [];
  const [, inText] = /its text is JSON of (.*?)(?:; |$)/.exec(comment) ?? [];
  const read = inText ?? type;
  const name = /^[[{(]?\{? ?"?([A-Za-z_$@][\w$-]*)"?\??:/.exec(read.replace(/^\{ /, "{"))?.[1];
  if (name === undefined) return undefined;
  const root = inText === undefined ? "r" : "JSON.parse(r)";
  const item = read.endsWith("[]") ? `${root}[0]` : root;
  return `${item}[${JSON.stringify(name)}]`;
}

const share = (part: number, whole: number) => (whole === 0 ? "–" : `${Math.round((part / whole) * 1000) / 10} %`);

const rows: Record<string, string | number>[] = [];
const sources: (() => Promise<{ readonly name: string; readonly sums: Sums }>)[] = [
  ...SERVERS.map(([mcp, inputs]) => async () => {
    await using source = await fromMcp(mcp, POLICY);
    const used = source.tools.filter(({ name }) => inputs[name]);
    if (used.length !== Object.keys(inputs).length)
      throw new Error(`${mcp.name}: ${source.tools.map(({ name }) => name).join(" ")}`);
    const sums = await measure({ name: mcp.name, tools: used.map(bare), inputs: new Map(Object.entries(inputs)) });
    return { name: `MCP: ${mcp.name}`, sums };
  }),
  ...DOCUMENTS.map(([name, file]) => async () => {
    const source = await apiOf(name, file);
    return { name: `API: ${name}`, sums: await measure(source) };
  }),
];
const total: Sums = {
  tools: 0,
  learned: 0,
  right: 0,
  wanted: 0,
  found: 0,
  before: 0,
  after: 0,
  failedBefore: 0,
  failedAfter: 0,
};
for (const one of sources) {
  const { name, sums } = await one();
  for (const key of Object.keys(total) as (keyof Sums)[]) total[key] += sums[key];
  rows.push(row(name, sums));
}
rows.push(row("all", total));

function row(source: string, sums: Sums) {
  return {
    source,
    tools: sums.tools,
    fields: sums.learned,
    right: share(sums.right, sums.learned),
    found: share(sums.found, sums.wanted),
    "tokens before": sums.before,
    "tokens after": sums.after,
    "failed programs before": sums.failedBefore,
    "failed programs after": sums.failedAfter,
  };
}

const head = Object.keys(rows[0] ?? {});
process.stdout.write(
  `Types that were learned from results, of tools without outputs.\n\n${markdown(
    head,
    rows.map((one) => head.map((column) => one[column])),
  )}\n`,
);
