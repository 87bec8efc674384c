import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { splitFrame } from "../../bridge/frames.ts";
import { createRuntime, type Runtime, type Tool } from "../../src/index.ts";
import type { JournalRecord } from "../../src/journal/index.ts";
import { SCENES } from "../../src/cli/input/examples.ts";
import { portcullis } from "../cli/command.ts";
import { ANSWERS } from "./independent.ts";
import { someOf, testOfAll } from "../support/all-tests.ts";

const examples = fileURLToPath(new URL("../../examples/", import.meta.url));

interface Call {
  readonly tool: string;
  readonly input: object;
}
interface Task {
  readonly question: string;
  readonly program: string;
  readonly answer: unknown;
}

const read = (name: string, file: string) => readFileSync(`${examples}${name}/${file}`, "utf8");
const readTask = (name: string) => JSON.parse(read(name, "task.json")) as Task;
const names = readdirSync(examples, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? entry.name : [],
);

async function loadTools(name: string, file: string): Promise<readonly Tool[]> {
  return ((await import(`${examples}${name}/${file}`)) as { readonly default: readonly Tool[] }).default;
}

const runtimes = new Map<string, Promise<Runtime>>();
afterAll(async () => {
  for (const runtime of runtimes.values()) await (await runtime)[Symbol.asyncDispose]();
});

/** One for all tests of a file of tools: starting engines is what takes time here. */
async function runtimeOf(name: string, file = "tools.ts"): Promise<Runtime> {
  const module = `${name}/${file}`;
  const runtime = runtimes.get(module) ?? loadTools(name, file).then(async (tools) => createRuntime({ tools }));
  runtimes.set(module, runtime);
  return runtime;
}

/**
 * Steps in which the calls could be made, as a caller must who sees no answer before all calls of a step are answered:
 * a call belongs to the step behind the last whose answers had come when it was made.
 */
function countSteps(records: readonly JournalRecord[]): number {
  const stepOf = new Map<number, number>();
  let answered = 0;
  for (const record of records) {
    if (record.type !== "turn") continue;
    const headers = [record.event, ...record.commands].map(
      (frame) => JSON.parse(splitFrame(frame).header) as { readonly kind: string; readonly id?: number },
    );
    for (const { kind, id = 0 } of headers) {
      if (kind === "answer") answered = Math.max(answered, stepOf.get(id) ?? 0);
      if (kind === "call") stepOf.set(id, answered + 1);
    }
  }
  return Math.max(...stepOf.values());
}

const callDirectly = async (runtime: Runtime, { tool, input }: Call) =>
  runtime.execute(`return tools.${tool}(${JSON.stringify(input)});`);

// ---- the tasks --------------------------------------------------------------------------------------------------

/** Bytes are those of all results, as compact JSON. */
const SHAPES = [
  { name: "capital", calls: 1, steps: 1, bytes: 85 },
  { name: "airports", calls: 2, steps: 1, bytes: 45 },
  { name: "hops", calls: 3, steps: 2, bytes: 297 },
  { name: "movies", calls: 1, steps: 1, bytes: 21_239 },
  { name: "flights", calls: 244, steps: 3, bytes: 992_265 },
  { name: "speeches", calls: 79, steps: 2, bytes: 2_859_097 },
  { name: "subgrid", calls: 234, steps: 2, bytes: 693_679 },
  { name: "licenses", calls: 728, steps: 2, bytes: 5_206_049 },
  { name: "operations", calls: 1230, steps: 8, bytes: 16_289_165 },
];

/** Examples that have files of tests of their own: their tools are other processes, or they are written by `init`. */
const ELSEWHERE = ["mcp-join", "github-openapi", "streams", "start", "http-client"];

test("every example is tested", () => {
  expect([...SHAPES.map(({ name }) => name), ...SCENES, ...ELSEWHERE].toSorted()).toEqual(names);
});

/** Run by files of tests of their own. */
const RUN_THERE: ReadonlySet<string> = new Set(["desk", "read-file", "team"]);
test.each(someOf(SCENES.filter((name) => !RUN_THERE.has(name)).toSorted(), 1))(
  "the scene %s goes as it should",
  { timeout: 120_000 },
  async (name) => {
    const { code, stdout } = await portcullis(["demo", name]);
    expect(stdout).toContain("as it should be");
    expect(code).toBe(0);
  },
);

describe.each(SHAPES)("the example $name", ({ name, ...shape }) => {
  const task = readTask(name);

  test("has an answer that other code computes from the data", () => {
    expect(ANSWERS[name]?.()).toEqual(task.answer);
  });

  // `make test` runs those of the first ones.
  const often = someOf(SHAPES, 3).some((one) => one.name === name) ? test : testOfAll;
  often("has a program that gives the answer, with the calls and bytes it is known by", async () => {
    const runtime = await runtimeOf(name);
    const report = await runtime.execute(read(name, task.program));
    expect(report.outcome).toEqual({ type: "completed", value: task.answer });
    const { calls, bytesIn } = report.usage;
    const steps = countSteps(await Array.fromAsync(runtime.journal.read(report.execution)));
    expect({ calls, steps, bytes: bytesIn }).toEqual(shape);
    expect(report.calls.filter(({ outcome }) => outcome.type !== "value")).toEqual([]);
  });

  test("has tools for both callers that only read", async () => {
    for (const tool of await loadTools(name, "tools.ts")) {
      expect(tool.allowedCallers).toEqual(["direct", "programmatic"]);
      expect(tool.effect).toBe("read");
    }
  });

  test("says in its README what the task asks", () => {
    expect(read(name, "README.md")).toContain(`> ${task.question}\n`);
  });
});

const tasks = SHAPES.map(({ name }) => name);

// ---- what the tools refuse --------------------------------------------------------------------------------------

test.each([
  ["flights", "flights.query", { limit: 1001 }],
  ["flights", "flights.query", { limit: 0 }],
  ["flights", "flights.query", { fields: ["pilot"] }],
  ["movies", "movies.query", { limit: 501 }],
  ["movies", "movies.query", { offset: -1 }],
  ["speeches", "speeches.get", { id: "1945_harry_s_truman_d", maxChars: 1_000_001 }],
  ["capital", "world.getCountry", { code: "KG", fields: ["gold"] }],
])("in %s, %s refuses %j", async (name, tool, input) => {
  const runtime = await runtimeOf(name);
  const { outcome, calls } = await callDirectly(runtime, { tool, input });
  expect(calls).toMatchObject([{ outcome: { type: "refused", code: "input_invalid" } }]);
  expect(outcome.type).toBe("failed");
});

test("every limit that a tool takes has a most", async () => {
  const tools = (await Promise.all(tasks.map(async (name) => loadTools(name, "tools.ts")))).flat();
  const limits = tools.flatMap(({ name, inputSchema: input }) => {
    const { properties = {} } = input["~standard"].jsonSchema.input({ target: "draft-2020-12" });
    return Object.entries(properties as Readonly<Record<string, { readonly maximum?: number }>>)
      .filter(([option]) => /limit|max/i.test(option))
      .map(([option, { maximum }]) => [`${name} ${option}`, maximum] as const);
  });
  expect(Object.fromEntries(limits)).toEqual({
    "flights.query limit": 1000,
    "movies.query limit": 500,
    "speeches.get maxChars": 1_000_000,
  });
});

test.each([
  ["capital", "world.getCountry", { code: "XX" }],
  ["airports", "world.getAirport", { iata: "QQQ" }],
  ["hops", "world.getRegion", { code: "XX-1" }],
  ["speeches", "speeches.get", { id: "../package" }],
  ["subgrid", "features.get", { id: "../package" }],
  ["subgrid", "regions.getUsage", { code: "alt-eu" }],
  ["licenses", "licenses.get", { id: "../package" }],
  ["operations", "operations.get", { operationId: "repos/nothing" }],
  ["operations", "operations.list", { cursor: "repos/nothing" }],
])("in %s, %s says of %j that there is none", async (name, tool, input) => {
  const runtime = await runtimeOf(name);
  const { output, calls } = await callDirectly(runtime, { tool, input });
  expect(calls).toMatchObject([{ outcome: { type: "failed", code: "handler_failed" } }]);
  expect(output.text).toContain("There is no");
});

describe("sql.query", () => {
  test.each([
    ["DROP TABLE movies", "not authorized"],
    ["INSERT INTO movies (title) VALUES ('x')", "not authorized"],
    ["UPDATE movies SET title = 'x'", "not authorized"],
    ["PRAGMA query_only", "not authorized"],
    ["ATTACH 'file.db' AS other", "not authorized"],
    ["WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT * FROM n", "not authorized"],
    ["SELECT 1; DROP TABLE movies", "There is more than one statement."],
    ["SELECT 1; SELECT 2", "There is more than one statement."],
    ["SELECT * FROM actors", "no such table: actors"],
    ["SELECT title FROM movies", "More than 1000 rows"],
    ["", "contains no statements. One SELECT is answered"],
  ])("refuses %j and says why", async (sql, why) => {
    const runtime = await runtimeOf("movies", "best.ts");
    const { output, calls } = await callDirectly(runtime, { tool: "sql.query", input: { sql } });
    expect(calls).toMatchObject([{ outcome: { type: "failed", code: "handler_failed" } }]);
    expect(output.text).toContain(why);
    const { outcome } = await callDirectly(runtime, {
      tool: "sql.query",
      input: { sql: "SELECT count(*) AS movies FROM movies;" },
    });
    expect(outcome).toEqual({ type: "completed", value: [{ movies: 3201 }] });
  });
});
