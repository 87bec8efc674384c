import { describe, expect, test } from "vitest";
import { anthropicWire } from "./anthropic/wire.ts";
import { declared, driveAndRestore, HOSTED, OPENING, requested, resultOf, type Step, turnOf } from "./converse.ts";
import { serve } from "./wire.ts";
import { WIRES } from "./wires.ts";

const CALL = { calls: [{ tool: "f", input: { k: 1 } }] };

function namesIn(body: string | undefined): readonly string[] {
  return [
    ...JSON.stringify((JSON.parse(body ?? "{}") as { tools?: unknown }).tools ?? []).matchAll(/"name":"(\w+)"/g),
  ].map(([, name = ""]) => name);
}

describe.each(WIRES)("with %s", (_, wire) => {
  test("S12: tools that are declared between turns take the place of the others, and a restored conversation sends the same bytes", async () => {
    const steps: readonly Step[] = [
      { say: "Do it." },
      { declare: { tools: [declared("g.h"), declared("g_h")] } },
      { say: "And now?", declare: { tools: [declared("f")], runProgram: OPENING.runProgram as never } },
    ];
    await using served = await serve(wire, [CALL, { calls: [{ tool: "g_h", input: { k: 2 } }] }, { text: "4" }], {
      redeclares: true,
    });
    const { turns, sent, again } = await driveAndRestore((fetch) => served.model({ fetch }), fetch, OPENING, steps);
    expect(served.refusals).toEqual([]);
    expect(again).toEqual(sent);
    expect(turns[1]?.calls).toMatchObject([{ type: "tool_call", tool: "g_h" }]);
    expect(namesIn(sent[0])).toEqual(["run_program", "f", "a_b"]);
    expect(namesIn(sent[1])).toEqual([expect.stringMatching(/^g_h_/), "g_h"]);
    expect(namesIn(sent[2])).toEqual(["run_program", "f"]);
  });

  test("S12: what a search has found stays declared as long as it is deferred", async () => {
    const search = declared("search_tools");
    const deferred = [declared("late"), declared("later")];
    const opening = { ...OPENING, tools: [search], deferred, searchesPrograms: true };
    const found = { calls: [{ tool: "search_tools", input: { k: 1 } }] };
    const steps: readonly Step[] = [
      { say: "Do it.", results: () => ({ found: ["late"] }) },
      { declare: { tools: [search, declared("f")], deferred, searchesPrograms: true } },
      { say: "On.", declare: { tools: [search], deferred: [declared("later")], searchesPrograms: true } },
    ];
    await using served = await serve(wire, [found, { text: "1" }, { text: "2" }], { redeclares: true });
    const { sent, again } = await driveAndRestore((fetch) => served.model({ fetch }), fetch, opening, steps);
    expect(served.refusals).toEqual([]);
    expect(again).toEqual(sent);
    expect(sent[1]).toContain('"late"');
    const isHidden = wire === anthropicWire || wire === WIRES[1]?.[1];
    if (!isHidden) expect(namesIn(sent[2])).toEqual(["search_tools"]);
    if (wire === anthropicWire) expect(namesIn(sent[2])).toEqual(["search_tools", "later", "late"]);
  });

  test("tools without the one that every turn calls are refused", async () => {
    const model = wire.model({ apiKey: wire.key, baseUrl: "http://127.0.0.1:9" });
    const conversation = await model.converse({ ...OPENING, settings: { toolChoice: { tool: "f" } } });
    expect(() => conversation.declare?.({ tools: [declared("g")] })).toThrow('the model knows no tool "f"');
  });
});

test("S12: while a hosted program waits its tools stay declared", async () => {
  const code = { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "1" } };
  const caller = { type: "code_execution_20260120", tool_id: "srvtoolu_1" };
  const use = { type: "tool_use", id: "toolu_1", name: "a_b", input: { k: 1 }, caller };
  const done = {
    type: "code_execution_tool_result",
    tool_use_id: "srvtoolu_1",
    content: { type: "code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] },
  };
  const container = { id: "c", expires_at: "2099-01-01T00:00:00Z" };
  await using served = await serve(
    anthropicWire,
    [
      { raw: { content: [code, use], stop_reason: "tool_use", container } },
      { raw: { content: [done, { type: "text", text: "1" }], container } },
      { text: "2" },
    ],
    { redeclares: true },
  );
  const steps: readonly Step[] = [{ say: "Do it." }, { declare: { tools: [declared("g")] } }, { say: "On." }];
  const { sent, again } = await driveAndRestore((fetch) => served.model({ fetch }), fetch, HOSTED, steps);
  expect(served.refusals).toEqual([]);
  expect(again).toEqual(sent);
  expect(sent.map(namesIn)).toEqual([
    ["code_execution", "f", "a_b"],
    ["code_execution", "f", "a_b"],
    ["code_execution", "g"],
  ]);
});

test("a conversation at Anthropic that is taken up with other tools refers to none that is gone", async () => {
  const opening = { ...OPENING, tools: [declared("search_tools")], deferred: [declared("late")] };
  const found = { calls: [{ id: "c1", tool: "search_tools", input: { k: 1 } }] };
  await using served = await serve(anthropicWire, [found, { text: "1" }], { redeclares: true });
  const first = await served.model({}).converse(opening);
  first.say("Do it.");
  const turn = turnOf(await first.turn(requested()));
  const other = await served.model({}).converse({ ...OPENING, tools: [declared("f")] });
  other.say("Do it.");
  other.restore?.(turn, first.opaque);
  other.answer([resultOf("c1", { found: ["late"] })]);
  expect(await other.turn(requested())).toMatchObject({ type: "turn", text: "1" });
  expect(served.refusals).toEqual([]);
});

test("a conversation at Anthropic whose tools were all found by a search is left with tools that it can be asked with", async () => {
  const opening = { ...OPENING, tools: [declared("search_tools")], deferred: [declared("late")] };
  const found = { calls: [{ id: "c1", tool: "search_tools", input: { k: 1 } }] };
  const steps = (tools: readonly string[]): readonly Step[] => [
    { say: "Do it.", results: () => ({ found: ["late"] }) },
    {},
    { say: "On.", declare: { tools: tools.map((name) => declared(name)) } },
  ];
  for (const tools of [["late"], []]) {
    await using served = await serve(anthropicWire, [found, { text: "1" }, { text: "2" }], { redeclares: true });
    const { sent, again } = await driveAndRestore(
      (fetch) => served.model({ fetch }),
      fetch,
      { ...opening, runProgram: undefined },
      steps(tools),
    );
    expect(served.refusals).toEqual([]);
    expect(again).toEqual(sent);
    expect(sent[1]).toContain("tool_reference");
    expect(sent[2]).not.toContain("tool_reference");
    expect(namesIn(sent[2])).toEqual(tools);
    expect(sent[2]).not.toContain("defer_loading");
  }
});
