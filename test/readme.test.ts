import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AgentEnding } from "../src/conversations/event.ts";
import { EXIT } from "../src/cli/failure.ts";
import type { Mode } from "../src/comparison/index.ts";
import { type BenchReport, leading } from "../src/comparison/report.ts";
import { ERROR_CODES } from "../src/base/errors.ts";
import type { Limits } from "../src/executions/limits.ts";
import type { Outcome, StoppedBy } from "../src/executions/outcome.ts";
import { portcullis } from "./cli/command.ts";
import { INTEGRATIONS } from "./support/integrations.ts";
import { type Block, blocks, root, snippets } from "./support/snippets.ts";

const read = (file: string) => readFileSync(root + file, "utf8");

test("each of the four uses has code in the README, and the first a model", () => {
  const uses = [...(/^## Four uses$([^]*?)^## /m.exec(read("README.md"))?.[1]?.matchAll(/^### (.+)$/gm) ?? [])];
  const shown = blocks.map(({ where }) => where);
  expect(uses).toHaveLength(4);
  expect(shown).toEqual(expect.arrayContaining(uses.map(([, heading]) => `README.md: ${heading}`)));
  expect(snippets.find(({ document }) => document === "README.md")?.code).toContain("model: anthropic(");
});

/**
 * Languages of blocks that other tests check: test/serve/serving-document.test.ts, test/executions/python-table.test.ts,
 * test/package/package.all.test.ts.
 */
const CHECKED_ELSEWHERE = ["caddyfile", "ini", "js", "nginx", "python", "shell", "yaml"];

/** Documents that a test follows, or makes, as a whole: test/package/package.all.test.ts, test/documents.test.ts. */
const HELD_WHOLE = new Set(["docs/start-here.md", "docs/options.md"]);

/** Drawings of a terminal, with the figures of one run. Tests of test/cli/terminal hold how they are drawn. */
const isDrawing = ({ document, language }: Block) => document === "docs/command-line.md" && language === "text";

test("no block of code is left unchecked", () => {
  const known = new Set(["ts", "sh", "json", ...CHECKED_ELSEWHERE]);
  const checked = new Set(snippets.map(({ printed }) => printed));
  const unchecked = blocks.filter(
    (block) =>
      !known.has(block.language) && !checked.has(block) && !HELD_WHOLE.has(block.document) && !isDrawing(block),
  );
  expect(unchecked).toEqual([]);
});

// What a document says that a block of JSON is, the tests of that subject check.
test.each(blocks.filter(({ language }) => language === "json"))("the JSON in $where parses", ({ text }) => {
  expect(JSON.parse(text)).toBeTypeOf("object");
});

describe("a command that stands in a document exists", () => {
  const lines = blocks.flatMap(({ language, text }) =>
    language === "sh"
      ? text
          .split("\n")
          .flatMap(
            (line) => line.replace(/\s+#.*|^npx --package \.\/portcullis-0\.1\.0\.tgz |^[A-Z_]+=\S+ /g, "") || [],
          )
      : [],
  );
  const commands = lines.filter((line) => line.startsWith("portcullis "));

  test("each is one of portcullis, a target of make, or an installation of a package that is named in package.json", () => {
    const targets = /^\.PHONY: (.+)$/m.exec(read("Makefile"))?.[1]?.split(" ") ?? [];
    const packages = new Set(
      ["package.json", "test/integrations/package.json"].flatMap((file) => {
        const manifest = JSON.parse(read(file)) as Record<string, Record<string, string> | string>;
        return ["dependencies", "devDependencies", "peerDependencies"].flatMap((kind) =>
          Object.keys(manifest[kind] ?? {}),
        );
      }),
    );
    const known = [
      ...targets.map((target) => `make ${target}`),
      // Run by package/package.all.test.ts.
      "npm pack ../portcullis && npm install ./portcullis-*.tgz zod",
      "curl -O https://raw.githubusercontent.com/github/rest-api-description/main/descriptions/api.github.com/api.github.com.json",
    ];
    const isInstallation = (line: string) =>
      line.startsWith("npm install ") &&
      line.split(" ").every((name, at) => at < 2 || name === "portcullis" || packages.has(name));
    expect(lines.filter((line) => ![...commands, ...known].includes(line) && !isInstallation(line))).toEqual([]);
  });

  const names = [...new Set(commands.map((line) => line.split(" ")[1] ?? ""))];
  test.each(names)("portcullis %s has the options that are shown", async (name) => {
    const { stdout: help } = await portcullis([name, "--help"]);
    // A command with commands of its own does not list their options.
    if (/^Commands:/m.test(help)) return;
    const shown = commands
      .filter((line) => line.split(" ")[1] === name)
      .flatMap((line) => line.match(/--[a-z-]+/g) ?? []);
    const options: readonly string[] = help.match(/--[a-z-]+/g) ?? [];
    expect(shown.filter((option) => !options.includes(option))).toEqual([]);
    expect(help).toContain(`Usage: portcullis ${name}`);
  });
});

/** Rows of the first table behind a marker or a heading: cells without the spaces that a formatter puts round them. */
function tableIn(document: string, before: string): string[][] {
  const text = read(document);
  const table = /^(?:\|.*\n)+/m.exec(text.slice(text.indexOf(`\n${before}\n`)));
  if (!text.includes(`\n${before}\n`) || !table) throw new Error(`${document} has no table behind ${before}.`);
  return cellsOf(table[0].trimEnd().split("\n"));
}

function cellsOf(lines: readonly string[]): string[][] {
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim().replace(/^-+:?$/, "-")),
  );
}

test("the table of errors is the code's", () => {
  const rows = Object.entries(ERROR_CODES).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`);
  const table = ["| code | meaning |", "| --- | --- |", ...rows];
  expect(tableIn("docs/operating.md", "<!-- errors -->")).toEqual(cellsOf(table));
});

/** The names of a union, in full: one that is missing or too many does not compile. */
const namesOf = <Name extends string>(names: Readonly<Record<Name, true>>): readonly string[] => Object.keys(names);

describe("a table of limits or endings names exactly those of the code", () => {
  const tables: readonly (readonly [document: string, before: string, names: readonly string[]])[] = [
    [
      "docs/limits-and-endings.md",
      "## How a program ends",
      namesOf<Outcome["type"]>({
        completed: true,
        failed: true,
        stopped: true,
        crashed: true,
        cancelled: true,
        waiting: true,
      }),
    ],
    [
      "docs/limits-and-endings.md",
      "## Limits that executions share",
      namesOf<Exclude<StoppedBy, keyof Limits>>({ heldBytes: true, queue: true }),
    ],
    [
      "docs/limits-and-endings.md",
      "## How a conversation ends",
      namesOf<AgentEnding["type"]>({
        answered: true,
        turns_spent: true,
        tokens_spent: true,
        refused: true,
        cut_off: true,
        stuck: true,
        stopped: true,
        answer_invalid: true,
        provider_failed: true,
        cancelled: true,
        waiting: true,
      }),
    ],
  ];
  test.each(tables)("%s, %s", (document, before, names) => {
    const [, , ...rows] = tableIn(document, before);
    expect(rows.map(([name = ""]) => name)).toEqual(names.map((name) => `\`${name}\``));
  });

  test("the exit codes", () => {
    const [, , ...rows] = tableIn("docs/command-line.md", "## Exit codes");
    const said = rows.flatMap((cells) => cells.join(" ").match(/\b\d+\b/g) ?? []).map(Number);
    expect(said.toSorted((one, other) => one - other)).toEqual(
      Object.values(EXIT).toSorted((one, other) => one - other),
    );
  });
});

test("the demo's answers are right", async () => {
  const { code, stdout } = await portcullis(["demo"]);
  expect([code, stdout.match(/✓ right/g)?.length]).toEqual([0, 2]);
});

test.skipIf(!INTEGRATIONS)("the picture of the speed is drawn from the table in docs/performance.md", async () => {
  const { speedPicture } = await import("./bench/draw-speed.ts");
  const drawn = await speedPicture(read("docs/performance.md"));
  expect(read("test/bench/speed.svg") === drawn, "node test/bench/draw-speed.ts draws it anew").toBe(true);
});

test("the table of tokens in docs/measuring.md is the report's", () => {
  const report = JSON.parse(read("test/bench/tokens/report.json")) as BenchReport;
  expect(tableIn("docs/measuring.md", "<!-- tokens -->")).toEqual(cellsOf(tokensTable(report)));
});

function tokensTable({ comparisons }: BenchReport): string[] {
  const number = (value: number) => Math.round(value).toLocaleString("en-US");
  const rows = comparisons.map((comparison) => {
    const measure = leading(comparison.providers);
    const find = (mode: Mode) => measure?.modes.find((one) => one.mode === mode);
    const [direct, program] = [find("direct-parallel"), find("programmatic+probe")];
    const gain = measure?.ratio === undefined ? "does not fit" : `${measure.ratio.toPrecision(2)}×`;
    const cells = [
      number(comparison.calls),
      number(comparison.resultBytes),
      direct ? number(direct.spent.peak) : "–",
      number(program?.spent.peak ?? 0),
      direct?.fits ? number(direct.cost) : "–",
      number(program?.cost ?? 0),
    ];
    return `| ${[comparison.task, ...cells, gain].join(" | ")} |`;
  });
  const head =
    "| task | calls | bytes fetched | context, direct | context, program | cost, direct | cost, program | gain |";
  return [head, "| --- | --- | --- | --- | --- | --- | --- | --- |", ...rows];
}
