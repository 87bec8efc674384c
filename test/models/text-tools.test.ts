import { describe, expect, test } from "vitest";
import { defineTextTool, type AgentEvent } from "../../src/index.ts";
import type { CallLine } from "../../src/gate/call-line.ts";
import { ask, counted } from "./provider.suite.ts";
import { serve, type Served, type WireCall, type WireStep } from "./wire.ts";
import { WIRES, chatWire, responsesWire } from "./wires.ts";

const REGEX = "SELECT [a-z, ]+ FROM [a-z]+(\\nLIMIT \\d{1,3})?";

function query(changes: object = {}) {
  const texts: string[] = [];
  const tool = defineTextTool({
    name: "db.query",
    description: "Rows of the database.",
    format: { regex: REGEX },
    allowedCallers: ["direct", "programmatic"],
    effect: "read",
    execute: (text) => {
      texts.push(text);
      return { rows: texts.length };
    },
    ...changes,
  });
  return { tool, texts };
}

const codeOf = ({ outcome }: CallLine) => ("code" in outcome ? outcome.code : outcome.type);

type Sent = Readonly<Record<string, unknown>>;
const bodyOf = ({ asked }: Served, request: number): Sent => asked[request]?.body ?? {};

describe.each(WIRES)("with %s", (_, wire) => {
  const isCustom = wire === responsesWire;
  const called = (text: string): WireCall => ({ tool: "db_query", text });
  const run = async (script: readonly WireStep[], asking: Parameters<typeof ask>[1]) => {
    await using served = await serve(wire, script);
    const report = await ask(served, { programs: "none", ...asking });
    expect(served.refusals).toEqual([]);
    return { ...report, served };
  };

  test.each([true, false])(
    "S18: a text goes to the handler as it is, and its result back (streamed: %j)",
    async (stream) => {
      const { tool, texts } = query();
      const text = "SELECT a, b FROM t\nLIMIT 10";
      const shown: string[] = [];
      const { answer, calls, served } = await run([{ calls: [called(text)] }, { text: "1 row" }], {
        tools: [tool],
        stream,
        onEvent: (event: AgentEvent) => event.type === "argument" && shown.push(event.text),
      });
      expect([answer, texts]).toEqual(["1 row", [text]]);
      expect(calls).toMatchObject([{ tool: "db.query", caller: "direct", outcome: { type: "value" } }]);
      const sent = JSON.stringify(bodyOf(served, 1));
      expect(sent).toContain("rows");
      expect(sent.includes("custom_tool_call_output")).toBe(wire === responsesWire);
      if (isCustom) expect(shown.join("")).toBe(text);
    },
  );

  test("S18: the model is told what a text has to match that does not, and nothing runs", async () => {
    const { tool, texts } = query();
    const { calls, served } = await run(
      [{ calls: [called("SELECT a FROM t\nLIMIT x"), called("SELECT"), called("DROP é🜁")] }, { text: "No." }],
      { tools: [tool] },
    );
    expect(texts).toEqual([]);
    expect(calls.map(codeOf)).toEqual(["input_invalid", "input_invalid", "input_invalid"]);
    expect(JSON.stringify(bodyOf(served, 1)).split("expected text that matches")).toHaveLength(4);
  });

  test("S18: the choice of a text tool forces it, and a conversation with it alone is strict where the form is held", async () => {
    const { tool, texts } = query();
    const { served } = await run([{ calls: [called("SELECT a FROM t")] }, { text: "1" }], {
      tools: [tool],
      settings: { toolChoice: { tool: "db.query" } },
    });
    expect(texts).toEqual(["SELECT a FROM t"]);
    const { tool_choice: choice } = bodyOf(served, 0);
    if (wire === responsesWire) expect(choice).toEqual({ type: "custom", name: "db_query" });
  });

  test("S18: it is declared as the provider has it, with its regular expression", async () => {
    const { served } = await run([{ text: "1" }], {
      tools: [query().tool, query({ name: "free", format: "text" }).tool],
    });
    const declared = JSON.stringify(bodyOf(served, 0).tools);
    const definition = JSON.stringify(isCustom ? REGEX : `^(?:${REGEX})$`);
    expect(declared).toContain(definition);
    expect(declared.includes('"custom"')).toBe(isCustom || declared.includes('"type":"custom"'));
    if (isCustom) expect(declared).toContain('"format":{"type":"text"}');
    else expect(declared).toContain('"required":["input"]');
  });

  test("S18: a text tool that a search has found is called with a text", async () => {
    const { tool, texts } = query({ defer: true });
    const text = "SELECT a FROM t";
    const search: WireStep = { calls: [{ tool: "search_tools", input: { query: "rows" } }] };
    await using served = await serve(wire, [search, { calls: [called(text)] }, { text: "1" }], { redeclares: true });
    const { answer } = await ask(served, { tools: [tool], programs: "none" });
    expect([answer, texts, served.refusals]).toEqual(["1", [text], []]);
  });

  test("S18: an approval, and a decision by the input, get the text", async () => {
    const asked: unknown[] = [];
    const { tool, texts } = query({
      format: "text",
      effect: (text: string) => (text.startsWith("SELECT") ? "read" : "write"),
      approval: (text: string) => !text.startsWith("SELECT"),
    });
    await run([{ calls: [called("SELECT 1"), called('DELETE "x"')] }, { text: "1" }], {
      tools: [tool],
      approve: ({ input, effect }) => {
        asked.push([input, effect]);
        return false;
      },
    });
    expect([asked, texts]).toEqual([[['DELETE "x"', "write"]], ["SELECT 1"]]);
  });
});

test.each([
  ["a number in place of the text", { inputText: '{"input":5}' }],
  ["another field", { inputText: '{"input":"SELECT a FROM t","more":1}' }],
  ["no JSON", { inputText: "{" }],
])("as a function, %s is refused with its type, and nothing runs", async (_, call) => {
  const { tool, texts } = query();
  await using served = await serve(chatWire, [{ calls: [{ tool: "db_query", ...call }] }, { text: "No." }]);
  const { calls } = await ask(served, { tools: [tool], programs: "none" });
  expect([calls.map(codeOf), texts]).toEqual([["input_invalid"], []]);
});

test("a text for a tool that takes fields is refused with its type, and nothing runs", async () => {
  const f = counted("f");
  const item = { type: "custom_tool_call", id: "c_1", call_id: "c_1", name: "f", status: "completed" };
  const output = [{ ...item, input: "four" }];
  await using served = await serve(responsesWire, [{ raw: { output } }, { text: "No." }]);
  const { calls } = await ask(served, { tools: [f.tool], programs: "none" });
  expect([calls.map(codeOf), f.inputs]).toEqual([["input_invalid"], []]);
});
