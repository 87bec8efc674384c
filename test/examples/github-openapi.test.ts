import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readData } from "../../examples/read-data.ts";
import { createRuntime } from "../../src/index.ts";

const folder = fileURLToPath(new URL("../../examples/github-openapi/", import.meta.url));
const read = (file: string) => readFileSync(folder + file, "utf8");
const task = JSON.parse(read("task.json")) as { readonly question: string; readonly answer: unknown };

interface Examples {
  readonly components: { readonly examples: Readonly<Record<string, { readonly value: readonly Row[] }>> };
}
interface Row {
  readonly title: string;
  readonly name: string;
  readonly labels: readonly Row[];
  readonly path: string;
  readonly count: number;
  readonly uniques: number;
  readonly referrer: string;
}

/** Computed from the examples in the document, by their names, without tools or a server. */
function answer(): unknown {
  const file = new URL("../../examples/operations/api.github.com.json.br", import.meta.url);
  const { examples } = (readData(file) as Examples).components;
  const rows = (name: string) => examples[name]?.value ?? expect.fail(name);
  const issues = rows("issue-items");
  const carried = JSON.stringify(issues.map(({ labels }) => labels.map(({ name }) => name)));
  const paths = rows("content-traffic-items").toSorted((one, other) => other.count - one.count);
  const [first = expect.fail()] = paths;
  return {
    issues: issues.map(({ title }) => ({ title, events: rows("timeline-issue-events").length })),
    unusedLabels: rows("label-items").flatMap(({ name }) => (carried.includes(`"${name}"`) ? [] : [name])),
    path: first.path,
    percentOfViews: Math.round((first.count / paths.map(({ count }) => count).reduce((a, b) => a + b)) * 100),
    referrer: rows("referrer-traffic-items").toSorted((one, other) => other.uniques - one.uniques)[0]?.referrer,
  };
}

test("the example github-openapi answers its question with the operations of GitHub's document", async () => {
  expect(answer()).toEqual(task.answer);
  expect(read("README.md")).toContain(`> ${task.question}\n`);
  const { default: tools, github } = await import("../../examples/github-openapi/tools.ts");
  expect(new Set(tools.map(({ effect }) => effect))).toEqual(new Set(["read"]));
  expect([github.names.length, github.problems]).toEqual([1223, []]);
  await using runtime = await createRuntime({ tools });
  const report = await runtime.execute(read("program.js"));
  expect(report.outcome).toEqual({ type: "completed", value: task.answer });
  expect(report.usage.calls).toBe(5);
});
