import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";

const folder = fileURLToPath(new URL("../../examples/mcp-join/", import.meta.url));
const read = (file: string) => readFileSync(folder + file, "utf8");
const task = JSON.parse(read("task.json")) as { readonly question: string; readonly answer: unknown };

interface Entry {
  readonly from?: string;
  readonly to?: string;
  readonly relationType?: string;
}

/** Computed from the raw files, without servers, by sorting the minutes of all incidents by their team. */
function answer(): unknown {
  const graph = read("memory.jsonl")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Entry);
  const incidents = readdirSync(`${folder}notes`).map((file) => {
    const words = read(`notes/${file}`).split(/\s+/);
    const service = words[words.indexOf("Service:") + 1];
    const team = graph.find(({ from, relationType }) => relationType === "owned by" && from === service)?.to ?? "";
    return { team, minutes: Number(words[words.indexOf("Minutes:") + 1]) };
  });
  const sums = Object.entries(Object.groupBy(incidents, ({ team }) => team)).map(([team, own = []]) => ({
    team,
    lead: graph.find(({ to, relationType }) => relationType === "leads" && to === team)?.from,
    incidents: own.length,
    minutes: own.reduce((sum, { minutes }) => sum + minutes, 0),
  }));
  return sums.toSorted((one, other) => one.minutes - other.minutes).at(-1);
}

test("the example mcp-join joins two servers in one program, which gives the answer that the raw files give", async () => {
  expect(answer()).toEqual(task.answer);
  expect(read("README.md")).toContain(`> ${task.question}\n`);
  const before = read("memory.jsonl");
  const { default: tools, sources } = await import("../../examples/mcp-join/tools.ts");
  await using closing = new AsyncDisposableStack();
  for (const source of sources) closing.use(source);
  expect(new Set(tools.map(({ effect }) => effect))).toEqual(new Set(["read"]));
  await using runtime = await createRuntime({ tools });
  const report = await runtime.execute(read("program.js"));
  expect(report.outcome).toEqual({ type: "completed", value: task.answer });
  expect(report.usage.calls).toBe(14);
  expect(read("memory.jsonl")).toBe(before);
});
