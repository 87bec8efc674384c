import * as fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../support/all-tests.ts";
import { openGateway, post } from "./gateways.ts";
import { mutated } from "../../support/changed.ts";

const CODE = { type: "code_execution_20260120", name: "code_execution" };
const OF_CODE = { type: CODE.type, tool_id: "srvtoolu_1" };
const PROGRAM = { type: "program", caller_id: "cprog_1" };
const user = (content: unknown) => ({ role: "user", content });
const assistant = (content: unknown) => ({ role: "assistant", content });
const RAN = { type: "code_execution_result", stdout: "1", stderr: "", return_code: 0, content: [] };

/** What clients send on a wire, and what becomes of it. */
interface Wire {
  readonly path: string;
  /** A request with what a client may send, of a conversation that this server does not have. */
  readonly body: object;
  /** The fields that are read, by the kinds that they may be: none where its values are few. */
  readonly kinds: Readonly<Record<string, string>>;
  /** What the journal of the conversation has of the request. */
  readonly kept: { readonly header: object; readonly calls: readonly object[]; readonly results: readonly object[] };
}

const MESSAGES: Wire = {
  path: "/v1/messages",
  body: {
    model: "m",
    max_tokens: 100,
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    tools: [
      CODE,
      { type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" },
      { name: "f", description: "d", input_schema: { type: "object" }, allowed_callers: ["direct", CODE.type] },
      { name: "g", description: "d", input_schema: { type: "object" }, strict: true, defer_loading: true },
    ],
    tool_choice: { type: "tool", name: "f" },
    temperature: 0.5,
    stop_sequences: ["END"],
    thinking: { type: "enabled", budget_tokens: 2000 },
    output_config: { format: { type: "json_schema", schema: { type: "object" } } },
    messages: [
      user([
        { type: "text", text: "one" },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "aaaa" } },
      ]),
      assistant([
        { type: "thinking", thinking: "…", signature: "s" },
        { type: "text", text: "So." },
        { type: "tool_use", id: "toolu_1", name: "f", input: { a: 1 }, caller: { type: "direct" } },
        { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "return 1" } },
        { type: "tool_use", id: "toolu_2", name: "f", input: {}, caller: OF_CODE },
      ]),
      user([
        { type: "tool_result", tool_use_id: "toolu_2", content: "2" },
        { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "1" }], is_error: true },
      ]),
      assistant([
        { type: "code_execution_tool_result", tool_use_id: "srvtoolu_1", content: RAN },
        { type: "text", text: "Done." },
      ]),
      user("two"),
    ],
  },
  kinds: {
    string: "model",
    "string array": "system",
    array: "messages tools stop_sequences",
    boolean: "stream",
    number: "temperature max_tokens thinking.budget_tokens",
    object: "thinking output_config",
    "": "tool_choice thinking.type thinking.display output_config.effort output_config.format",
  },
  kept: {
    header: {
      instructions: expect.stringContaining("Be brief."),
      settings: { temperature: 0.5, stop: ["END"], reasoning: { effort: "low" }, answer: { type: "object" } },
      tools: [{ name: "f" }, { name: "g", callers: ["direct"] }],
    },
    calls: [
      { type: "tool_call", id: "toolu_1", tool: "f", inputText: '{"a":1}' },
      { type: "program_call", id: "srvtoolu_1", source: "return 1" },
    ],
    results: [
      { callId: "toolu_1", text: "1", isError: true },
      { callId: "srvtoolu_1", text: "1", isError: false },
    ],
  },
};

const QUERY = { type: "custom_tool_call", name: "query" };
const RESPONSES: Wire = {
  path: "/v1/responses",
  body: {
    model: "m",
    instructions: "Be brief.",
    tools: [
      { type: "programmatic_tool_calling" },
      { type: "tool_search" },
      { type: "function", name: "f", description: "d", parameters: { type: "object" }, strict: true },
      {
        type: "namespace",
        name: "crm",
        description: "d",
        tools: [{ type: "function", name: "list", parameters: null, allowed_callers: ["direct", "programmatic"] }],
      },
      { ...QUERY, type: "custom", description: "SQL.", allowed_callers: ["direct", "programmatic"] },
    ],
    tool_choice: { type: "function", name: "f" },
    temperature: 0.5,
    reasoning: { effort: "minimal" },
    text: { format: { type: "json_schema", name: "n", schema: { type: "object" } } },
    store: false,
    include: ["reasoning.encrypted_content"],
    input: [
      { role: "developer", content: "Be kind." },
      user([
        { type: "input_text", text: "one" },
        { type: "input_image", image_url: "data:image/png;base64,aaaa" },
      ]),
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "First f." }], encrypted_content: "s" },
      { ...assistant([{ type: "output_text", text: "So.", annotations: [] }]), type: "message" },
      { type: "function_call", call_id: "call_1", namespace: "crm", name: "list", arguments: "{}", caller: null },
      { type: "program", id: "prog_1", call_id: "cprog_1", code: "return 1", fingerprint: "fpr_1" },
      { type: "function_call", call_id: "call_2", name: "f", arguments: '{"a":1}', caller: PROGRAM },
      { ...QUERY, id: "ctc_1", call_id: "call_3", input: 'SELECT "1"', caller: PROGRAM },
      { ...QUERY, id: "ctc_2", call_id: "call_4", input: "SELECT 2\n", caller: null },
      { type: "function_call_output", call_id: "call_1", output: [{ type: "input_text", text: "1" }] },
      { type: "function_call_output", call_id: "call_2", output: "2", caller: PROGRAM },
      { type: "custom_tool_call_output", call_id: "call_3", output: "3", caller: PROGRAM },
      { type: "custom_tool_call_output", call_id: "call_4", output: [{ type: "input_text", text: "4" }] },
      { type: "program_output", id: "po_1", call_id: "cprog_1", result: "1", status: "completed" },
      { type: "reasoning", id: "rs_2", summary: [], content: [{ type: "reasoning_text", text: "So." }], status: null },
      assistant("Done."),
      user("two"),
    ],
  },
  kinds: {
    string: "model instructions previous_response_id",
    "string array": "input",
    array: "tools",
    boolean: "stream store parallel_tool_calls",
    number: "temperature max_output_tokens",
    object: "tool_choice reasoning text",
    "": "reasoning.effort reasoning.summary text.format",
  },
  kept: {
    header: {
      instructions: expect.stringContaining("Be brief.\n\nBe kind."),
      settings: { toolChoice: { tool: "f" }, reasoning: { effort: "low" }, answer: { type: "object" } },
      tools: [{ name: "f", callers: ["direct"] }, { name: "crm.list" }, { name: "query" }],
    },
    calls: [
      { type: "tool_call", id: "call_1", tool: "crm.list" },
      { type: "program_call", id: "cprog_1", source: "return 1" },
      { type: "tool_call", id: "call_4", tool: "query", inputText: '"SELECT 2\\n"' },
    ],
    results: [
      { callId: "call_1", text: "1" },
      { callId: "cprog_1", text: "1" },
      { callId: "call_4", text: "4" },
    ],
  },
};

const WIRES = [MESSAGES, RESPONSES];
/** The model's turns after those of a request are a script's from there on. */
const SCRIPT = Array.from({ length: 10 }, () => ({ text: "three" }));

test.each(WIRES)("$path: what was said elsewhere goes on, with its turns, calls and settings", async (wire) => {
  await using gateway = await openGateway(SCRIPT);
  expect((await post(gateway, wire.body, wire)).status).toBe(200);
  const [{ execution } = { execution: "" }] = await Array.fromAsync(gateway.journal.list());
  const [header, ...records] = await Array.fromAsync(gateway.journal.read(execution));
  const { settings = "{}", ...more } = header as { settings?: string };
  expect({ ...more, settings: JSON.parse(settings) as unknown }).toMatchObject(wire.kept.header);
  const said = records.flatMap((one) => (one.type === "message" ? [JSON.parse(one.message) as unknown] : []));
  const { calls, results } = wire.kept;
  const one = [{ type: "text", text: "one" }, { type: "image" }];
  const answers = [{ text: "So.", calls }, results, { text: "Done.", calls: [] }];
  expect(said).toMatchObject([[{ message: one }], ...answers, [{ message: "two" }], { text: "three" }]);
});

/** Values of each kind of JSON but null, which stands for a field that is missing. */
const OF_KINDS = Object.entries({ string: "x", number: 5, boolean: true, array: [], object: {} });

test.each(WIRES)("$path: a field of another kind is refused by its name, and not read without it", async (wire) => {
  await using gateway = await openGateway(SCRIPT);
  const placeOf = async (body: object) => {
    const { status, json } = await post(gateway, body, wire);
    return `${status} ${json.error?.param ?? json.error?.message}`;
  };
  const fields = Object.entries(wire.kinds).flatMap(([own, names]) =>
    names.split(" ").map((name) => [name, own] as const),
  );
  for (const [field, own] of fields) {
    const [name = "", inner] = field.split(".");
    const outer = (wire.body as Readonly<Record<string, object>>)[name];
    for (const [, value] of OF_KINDS.filter(([kind]) => !own.split(" ").includes(kind))) {
      const wrong = { [name]: inner === undefined ? value : { ...outer, [inner]: value } };
      expect(await placeOf({ ...wire.body, ...wrong }), JSON.stringify(wrong)).toMatch(`400 ${name}`);
    }
    if (inner !== undefined) expect(await placeOf({ ...wire.body, [field]: "x" })).toMatch(`400 ${field}`);
  }
  expect(await Array.fromAsync(gateway.journal.list())).toEqual([]);
});

test.each(WIRES)(
  "$path: a request that was changed anywhere is answered or refused",
  async (wire) => {
    await using gateway = await openGateway(SCRIPT);
    const changed = fc.asyncProperty(mutated(wire.body), async (body) => {
      const { status, json } = await post(gateway, body, wire);
      expect([200, 400, 404]).toContain(status);
      if (status !== 200) expect(json.error.message.length).toBeLessThan(2000);
    });
    await fc.assert(changed, { numRuns: runs(5000) });
  },
  300_000,
);
