import { createMemoryJournal } from "portcullis/journal";
import { test } from "vitest";
import { defineTool, jsonSchema } from "portcullis";
import { prepare } from "../../src/executions/prepare/prepare.ts";
import { holdSentences } from "../support/sentences.ts";
import { runtimeWith } from "../support/runtime.ts";

const tool = (name: string, effect: "read" | "write", more: object = {}) =>
  defineTool({
    name,
    description: name,
    inputSchema: jsonSchema({ type: "object" }),
    allowedCallers: ["programmatic"],
    effect,
    execute: () => 1,
    ...more,
  });
const late = () => new Promise(() => {});

/** Programs that are refused before they run. */
const REFUSED = [
  "",
  "return 1\0",
  `return '${"x".repeat(40_000)}'`,
  "First:\n```js\nreturn 1\n```\nthen:\n```ts\nreturn 2\n```\n",
  "return {",
  "}\n{",
];
/** Programs that end otherwise than their model meant. */
const ENDED = [
  "tools.add({}); return 1",
  "tools.add({}); tools.pay({}); return 1",
  "tools.find({}); return 1",
  "return tools.none({})",
  "return await tools.pay({})",
  "fetch('x')",
  "",
];

test("each program that is refused or does not complete has one text for its model", async () => {
  const tools = [
    tool("add", "write", { execute: late }),
    tool("find", "read", { execute: late }),
    tool("pay", "write", { approval: "always" }),
  ];
  const runtime = await runtimeWith(tools, { journal: createMemoryJournal(), approve: () => "later" });
  await using _ = runtime;
  const text = async (program: string, more: object = {}) => (await runtime.execute(program, more)).output.text;
  const decide = (decisions: object) => () => runtime.execution("waits").decide(decisions as never);
  await holdSentences([
    ...REFUSED.map((source) => async () => {
      const prepared = await prepare(source);
      return prepared.ok ? "prepared" : prepared.fault;
    }),
    ...ENDED.map((program) => () => text(program)),
    () =>
      text("return { rows: 1 }", { result: jsonSchema({ type: "object", properties: { rows: { type: "array" } } }) }),
    () => text("return 1", { limits: { cpuMs: 0 } }),
    () => text("return 1", { limits: { outputBites: 1 } }),
    () => text("return 1", { limits: { zzzzzzzzz: 1 } }),
    async () => (await runtime.execute("return tools.pay({})", { id: "waits" })).output.text,
    decide({}),
    decide({ 9: { allow: true } }),
    async () => {
      await decide({ 1: { allow: true, by: "ann" } })();
      await decide({ 1: { allow: false } })();
    },
    () => runtime.execute("return 1", { id: "waits" }),
    () => runtime.execution("never").resume(),
  ]);
});
