import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { leading, type Mode } from "../src/comparison/comparison.ts";
import type { BenchReport } from "../src/comparison/report/report.ts";
import { LIMIT_RULES } from "../src/programs/limits.ts";
import { sentencesOf } from "./support/rule-sentences.ts";
import { amount } from "../src/output/sentences.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(`${root}README.md`, "utf8");

/** Each block of TypeScript under a heading, and the block behind it: what it prints. */
const snippets = [...readme.matchAll(/^### (.+)\n[\s\S]*?^```ts\n([\s\S]*?)^```\n\n^```\n([\s\S]*?)^```/gm)].map(
  ([, heading = "", code = "", printed = ""]) => ({ heading, code, printed }),
);

test("each of the four uses has a snippet", () => {
  expect(snippets).toHaveLength(4);
});

describe("a snippet of the README runs as it stands and prints what stands behind it", () => {
  test.each(snippets)("$heading", async ({ code, printed }) => {
    const args = ["--conditions=portcullis-source", "--input-type=module-typescript", "--no-warnings", "--eval", code];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
    expect(stdout).toBe(printed);
  });
});

test("the README's table of limits is the code's", () => {
  const sentences = sentencesOf("src/programs/limits.ts", "LIMIT_RULES");
  const rows = Object.entries(LIMIT_RULES).map(
    ([name, rule]) =>
      `| \`${name}\` | ${amount(name as keyof typeof LIMIT_RULES, rule.default)} | ${sentences.get(name)} |`,
  );
  const table = ["| limit | default | what it bounds, and why so much |", "| --- | --- | --- |", ...rows];
  const found = /<!-- limits -->\n([\s\S]*?)\n\n## /.exec(readme)?.[1] ?? "";
  expect(cellsOf(found.trim().split("\n"))).toEqual(cellsOf(table));
});

/** Cells without the spaces that a formatter puts round them. */
function cellsOf(lines: readonly string[]): string[][] {
  return lines.map((line) => line.split("|").map((cell) => cell.trim().replace(/^-+:?$/, "-")));
}

test("every link in the documents leads to a file", () => {
  for (const document of [
    "README.md",
    "SECURITY.md",
    "src/README.md",
    "bridge/README.md",
    "bridge/guest/README.md",
    "test/README.md",
  ]) {
    const text = readFileSync(root + document, "utf8");
    for (const [, target = ""] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
      const path = new URL(target, new URL(document, `file://${root}`));
      expect(() => readFileSync(path), `${document} -> ${target}`).not.toThrow(/ENOENT/);
    }
  }
});

describe("what the README says of tokens is what the report beside its pictures says", () => {
  const report = JSON.parse(readFileSync(`${root}test/bench/tokens/report.json`, "utf8")) as BenchReport;

  test("its table", () => {
    const found = /<!-- tokens -->\n([\s\S]*?)\n\n!/.exec(readme)?.[1] ?? "";
    expect(cellsOf(found.trim().split("\n"))).toEqual(cellsOf(tokensTable(report)));
  });

  test("its break-even", () => {
    const { breakEven, breakEvenWithProbe } = report.sweeps[0] ?? {};
    const sentence = `programs are cheaper from ${Math.round(breakEven ?? 0)} rows on, and from ${Math.round(breakEvenWithProbe ?? 0)} with the look at samples`;
    expect(readme.replaceAll(/\s+/g, " ")).toContain(sentence);
  });
});

function tokensTable({ comparisons }: BenchReport): string[] {
  const number = (value: number) => Math.round(value).toLocaleString("en-US");
  const rows = comparisons.map((comparison) => {
    const measure = leading(comparison.wires);
    const find = (mode: Mode) => measure?.modes.find((one) => one.mode === mode);
    const [direct, program] = [find("direct-parallel"), find("programmatic+probe")];
    const gain = measure?.ratio === undefined ? "does not fit" : `${measure.ratio.toPrecision(2)}×`;
    const cells = [
      number(comparison.calls),
      number(comparison.resultBytes),
      number(direct?.spent.peak ?? 0),
      number(program?.spent.peak ?? 0),
      direct?.fits ? number(direct.cost.cached) : "–",
      number(program?.cost.cached ?? 0),
    ];
    return `| ${[comparison.task, ...cells, gain].join(" | ")} |`;
  });
  const head =
    "| task | calls | bytes fetched | context, direct | context, program | cost, direct | cost, program | gain |";
  return [head, "| --- | --- | --- | --- | --- | --- | --- | --- |", ...rows];
}
