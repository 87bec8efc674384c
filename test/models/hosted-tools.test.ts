import { describe, expect, test } from "vitest";
import { openaiChat, PortcullisError, webSearch, type AgentEvent } from "../../src/index.ts";
import { citationsOf, hostedEnd, hostedStart } from "../../src/models/turn/hosted-calls.ts";
import { scriptedModel } from "../../src/runtime/testing.ts";
import { viewExecution } from "../../src/serve/views/view-execution.ts";
import { ask, counted } from "./provider.suite.ts";
import { leftAndAnswered } from "./restored.ts";
import { type Fields, serve, type Served, type Wire, type WireStep } from "./wire.ts";
import { failing, runtimeWith } from "../support/index.ts";
import { anthropicWire, chatWire, geminiWire, responsesWire } from "./wires.ts";

const PAGE = { url: "https://docs.example.com/a", title: "A" };
const bodyOf = ({ asked }: Served, request: number): Fields => asked[request]?.body ?? {};

const text = { type: "text", text: "4" };
const messageWith = (...annotations: readonly object[]) => ({
  type: "message",
  id: "m",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "4", annotations }],
});
const message = messageWith();

/** A search of each provider before a call of a tool, then the answer with a citation. */
const SEARCHES: readonly (readonly [name: string, wire: Wire, declared: object, script: readonly WireStep[]])[] = [
  [
    "Anthropic",
    anthropicWire,
    { type: "web_search_20250305", name: "web_search", allowed_domains: ["example.com"], max_uses: 2 },
    [
      {
        raw: {
          content: [
            { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "a" } },
            {
              type: "web_search_tool_result",
              tool_use_id: "srv_1",
              content: [{ type: "web_search_result", ...PAGE, encrypted_content: "sealed", page_age: null }],
            },
            { type: "tool_use", id: "toolu_1", name: "f", input: { k: 1 } },
          ],
        },
      },
      {
        raw: { content: [{ ...text, citations: [{ type: "web_search_result_location", ...PAGE, cited_text: "4" }] }] },
      },
    ],
  ],
  [
    "OpenAI Responses",
    responsesWire,
    { type: "web_search", filters: { allowed_domains: ["example.com"] } },
    [
      {
        raw: {
          output: [
            {
              type: "web_search_call",
              id: "ws_1",
              status: "completed",
              action: { type: "search", query: "a", sources: [{ type: "url", url: PAGE.url }] },
            },
            { type: "function_call", id: "fc_1", call_id: "c_1", name: "f", arguments: '{"k":1}', status: "completed" },
          ],
        },
      },
      { raw: { output: [messageWith({ type: "url_citation", ...PAGE, start_index: 0, end_index: 1 })] } },
    ],
  ],
  [
    "Gemini",
    geminiWire,
    { googleSearch: {} },
    [
      {
        raw: {
          parts: [
            {
              toolCall: { id: "t_1", toolType: "GOOGLE_SEARCH_WEB", args: { queries: ["a"] } },
              thoughtSignature: "c2ln",
            },
            { toolResponse: { id: "t_1", toolType: "GOOGLE_SEARCH_WEB", response: {} } },
            { functionCall: { id: "c_1", name: "f", args: { k: 1 } }, thoughtSignature: "c2ln" },
          ],
        },
      },
      {
        raw: {
          parts: [{ text: "4" }],
          groundingMetadata: { groundingChunks: [{ web: { uri: PAGE.url, title: PAGE.title } }] },
        },
      },
    ],
  ],
];

const toolOf = {
  Anthropic: "web_search",
  "OpenAI Responses": "web_search",
  Gemini: "google_search_web",
} as const;

describe.each(SEARCHES)("with %s", (name, wire, declared, script) => {
  const hostedTools = [wire === geminiWire ? webSearch() : webSearch({ allowedDomains: ["example.com"], maxUses: 2 })];

  test.each([true, false])("S19: a search is declared, told, counted and cited (streamed: %j)", async (stream) => {
    const f = counted("f");
    const events: AgentEvent[] = [];
    await using served = await serve(wire, script);
    const { answer, usage, transcript, calls } = await ask(served, {
      tools: [f.tool],
      programs: "none",
      stream,
      onEvent: (event) => event.type.startsWith("hosted_call") && events.push(event),
      settings: { hostedTools },
    });
    expect([answer, served.refusals, f.inputs]).toEqual(["4", [], [{ k: 1 }]]);
    expect(bodyOf(served, 0).tools).toContainEqual(declared);
    expect([usage.hostedCalls, usage.calls, calls.length]).toEqual([1, 1, 1]);
    const [first, second] = transcript.turns.map(({ turn }) => turn);
    const about = { call: expect.any(String) as string, tool: toolOf[name as keyof typeof toolOf] };
    expect(first?.hosted).toEqual([
      { type: "hosted_call_started", ...about, input: expect.stringContaining('"a"') as string },
      expect.objectContaining({ type: "hosted_call_ended", ...about, isError: false }),
    ]);
    if (wire !== geminiWire)
      expect(first?.hosted[1]).toMatchObject({ sources: [wire === anthropicWire ? PAGE : { url: PAGE.url }] });
    expect(second?.citations).toEqual([PAGE]);
    expect(events.map(({ type }) => type)).toEqual(["hosted_call_started", "hosted_call_ended"]);
  });

  test("S19: it is declared in each request, also by a process that takes the conversation up", async () => {
    await using served = await serve(wire, script);
    const model = served.model();
    const begun = { model, programs: "none", settings: { hostedTools } } as const;
    const { answer, journal } = await leftAndAnswered([counted("f").tool], begun, { model });
    expect(answer).toBe("4");
    expect(bodyOf(served, 1).tools).toEqual(bodyOf(served, 0).tools);
    expect(served.refusals).toEqual([]);
    const view = await viewExecution(journal, "one");
    expect(view).toMatchObject({
      turns: [{ hosted: [{ tool: toolOf[name as keyof typeof toolOf], isError: false }] }, { citations: [PAGE] }],
    });
  });
});

test("Chat Completions has no search of its own, and Gemini's takes no bounds: refused by name, before any request", async () => {
  for (const [wire, tool, why] of [
    [chatWire, webSearch(), "it has no search of its own"],
    [geminiWire, webSearch({ allowedDomains: ["example.com"] }), "its search takes no allowedDomains"],
    [geminiWire, webSearch({ maxUses: 1 }), "its search takes no maxUses"],
  ] as const) {
    const model = wire.model({ apiKey: wire.key, baseUrl: "http://127.0.0.1:9", fetch: () => Promise.reject() });
    await using runtime = await runtimeWith([]);
    await expect(runtime.agent({ model, task: "x", settings: { hostedTools: [tool] } })).rejects.toMatchObject(
      failing("option_invalid", new RegExp(`^hostedTools: .*${why}\\.$`)),
    );
  }
});

test.each<[string, unknown, string?]>([
  ["a provider's remote MCP", [{ type: "mcp", server_url: "https://a.example" }]],
  ["another kind", [{ type: "computer" }]],
  ["one kind twice", [webSearch(), webSearch()], "each kind once"],
  ["more fields", [{ type: "web_search", userLocation: {} }]],
  ["no list", webSearch()],
])(
  "hosted tools with %s are refused, and say what to do",
  async (_, hostedTools, why = "an array of tools made by webSearch") => {
    await using runtime = await runtimeWith([]);
    const begun = runtime.agent({
      model: scriptedModel([{ text: "1" }]),
      task: "x",
      settings: { hostedTools: hostedTools as never },
    });
    await expect(begun).rejects.toMatchObject(failing("option_invalid", why));
  },
);

test.each([
  [{ allowedDomains: [] }],
  [{ allowedDomains: ["https://a.example"] }],
  [{ allowedDomains: ["a b.c"] }],
  [{ maxUses: 0 }],
  [{ domains: [] }],
])("webSearch(%j) is refused", (options) => {
  expect(() => webSearch(options as never)).toThrow(PortcullisError);
});

const hostedOf = async (wire: Wire, raw: Fields, more: readonly WireStep[] = []) => {
  await using served = await serve(wire, [{ raw }, ...more]);
  const { transcript, answer } = await ask(served, { programs: "none" });
  expect(served.refusals).toEqual([]);
  return { hosted: transcript.turns.flatMap(({ turn }) => turn.hosted), answer };
};
/** What Anthropic tells of a call that it has made itself. */
const ranAt = (name: string, content: Fields): Fields => ({
  content: [
    { type: "server_tool_use", id: "s", name, input: {} },
    { type: `${name}_tool_result`, tool_use_id: "s", content },
    text,
  ],
});

/** The same of OpenAI, and of Gemini. */
const item = (type: string, more: Fields): Fields => ({
  output: [{ type, id: "i", status: "completed", ...more }, message],
});
const REMOTE = { name: "find", server_name: "crm", server_label: "crm" };
const NO = { tool: "crm.find", isError: true, output: "no" };

test.each<[string, Wire, Fields, object]>([
  [
    "a search that failed",
    anthropicWire,
    ranAt("web_search", { type: "web_search_tool_result_error", error_code: "max_uses_exceeded" }),
    { tool: "web_search", isError: true, output: "max_uses_exceeded" },
  ],
  [
    "a page that was fetched",
    anthropicWire,
    ranAt("web_fetch", { type: "web_fetch_result", url: PAGE.url, content: { type: "document" } }),
    { tool: "web_fetch", isError: false, sources: [{ url: PAGE.url }] },
  ],
  [
    "a call at a remote MCP server",
    anthropicWire,
    {
      content: [
        { type: "mcp_tool_use", id: "s", ...REMOTE, input: { q: 1 } },
        { type: "mcp_tool_result", tool_use_id: "s", is_error: true, content: [{ type: "text", text: "no" }] },
        text,
      ],
    },
    NO,
  ],
  [
    "code",
    responsesWire,
    item("code_interpreter_call", { code: "print(4)", outputs: [{ type: "logs", logs: "4" }] }),
    { tool: "code_interpreter", isError: false, output: "4" },
  ],
  [
    "a call at a remote MCP server",
    responsesWire,
    item("mcp_call", { ...REMOTE, arguments: '{"q":1}', error: "no", status: "failed" }),
    NO,
  ],
  [
    "code",
    geminiWire,
    {
      parts: [
        { executableCode: { code: "print(4)", language: "PYTHON" } },
        { codeExecutionResult: { outcome: "OUTCOME_FAILED", output: "x" } },
        { text: "4" },
      ],
    },
    { tool: "code_execution", isError: true, output: "x" },
  ],
  [
    "a search of which only the grounding tells",
    geminiWire,
    {
      parts: [{ text: "4" }],
      groundingMetadata: { webSearchQueries: ["a"], groundingChunks: [{ web: { uri: PAGE.url } }] },
    },
    { tool: "google_search", isError: false, sources: [{ url: PAGE.url }] },
  ],
])("what a provider ran without being asked is told: %s (%#)", async (_, wire, raw, ended) => {
  const { hosted, answer } = await hostedOf(wire, raw);
  expect(answer).toBe("4");
  expect(hosted).toMatchObject([{ type: "hosted_call_started" }, { type: "hosted_call_ended", ...ended }]);
  expect(new Set(hosted.map((news) => "call" in news && news.call)).size).toBe(1);
});

test("a result of a later turn belongs to its call, and a call of the client beside an open search is answered alone", async () => {
  await using served = await serve(anthropicWire, [
    {
      raw: {
        stop_reason: "pause_turn",
        content: [{ type: "server_tool_use", id: "s", name: "web_search", input: {} }],
      },
    },
    { raw: { content: [{ type: "web_search_tool_result", tool_use_id: "s", content: [] }, text] } },
  ]);
  const { transcript } = await ask(served, { programs: "none" });
  expect(served.refusals).toEqual([]);
  expect(transcript.turns.map(({ turn }) => turn.hosted)).toMatchObject([
    [{ type: "hosted_call_started", call: "s" }],
    [{ type: "hosted_call_ended", call: "s", tool: "web_search", sources: [] }],
  ]);
});

test.each<[string, Wire, Fields]>([
  ["no id", anthropicWire, { content: [{ type: "server_tool_use", name: "web_search", input: {} }, text] }],
  ["a result of nothing", anthropicWire, { content: [{ type: "web_search_tool_result", content: 5 }, text] }],
  ["no id", responsesWire, { output: [{ type: "web_search_call", action: null }, message] }],
  [
    "grounding that is none",
    geminiWire,
    { parts: [{ text: "4" }], groundingMetadata: { webSearchQueries: 5, groundingChunks: [5, null, { web: 3 }] } },
  ],
])("malformed blocks with %s tell nothing, and end nothing", async (_, wire, raw) => {
  expect(await hostedOf(wire, raw)).toEqual({ hosted: [], answer: "4" });
});

test("only addresses of the web without secrets are kept, each once, bounded", () => {
  const given = [
    { url: "javascript:alert(1)" },
    { url: "https://user:secret@a.example" },
    { url: "file:///etc/passwd" },
    { url: "https://a.example", title: "x".repeat(1000) },
    { url: "https://a.example" },
    { url: `https://a.example/${"a".repeat(3000)}` },
    5,
    null,
    { url: 5 },
  ];
  expect(citationsOf(given)).toEqual([{ url: "https://a.example", title: `${"x".repeat(299)}…` }]);
  const many = Array.from({ length: 1000 }, (_, index) => ({ url: `https://a.example/${index}` }));
  expect(citationsOf(many)).toHaveLength(100);
});

test("an answer with a call of the provider's own that has no result is none, and what the user says next is sent", async () => {
  const open = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
  await using served = await serve(anthropicWire, [
    { raw: { content: [text, open] }, isDropped: true },
    { text: "A." },
    { text: "B." },
  ]);
  await using runtime = await runtimeWith([]);
  await using talk = await runtime.conversation({ model: served.model(), programs: "none" });
  expect((await talk.send("One.")).answer).toBe("A.");
  expect((await talk.send("Two.")).answer).toBe("B.");
  expect(served.refusals).toEqual([]);
  expect(JSON.stringify(served.asked.at(-1)?.body)).toMatch(/^(?!.*server_tool_use)(?=.*Two\.).*has no result/);
});

test("an address that is kept ends where it stands, and hides and turns nothing", () => {
  const urls = [
    "https://a.example/ü?q=1#b",
    "https://b.example/x> [y](z)\n\u001b[2J",
    "https://c.example/\u202egpj",
    "https://d.example/\u3164",
  ];
  expect(citationsOf(urls.map((url) => ({ url }))).map(({ url }) => url)).toEqual([
    "https://a.example/ü?q=1#b",
    "https://b.example/x%3E%20[y](z)%1B[2J",
    "https://c.example/%E2%80%AEgpj",
    "https://d.example/%E3%85%A4",
  ]);
});

test("an id of a provider's call is bounded in both of its entries alike", () => {
  const call = { call: "s".repeat(1024 * 1024), tool: "web_search" };
  const ids = [hostedStart(call), hostedEnd(call, { isError: false })].map((news) => "call" in news && news.call);
  expect(ids).toEqual(["s".repeat(256), "s".repeat(256)]);
});

test("a fallback that has no search is refused when it would take over, and the host is told why", async () => {
  await using runtime = await runtimeWith([]);
  const events: AgentEvent[] = [];
  const report = runtime.agent({
    model: scriptedModel([{ failure: { code: "server_failed", message: "down" } }]),
    fallbacks: [openaiChat({ model: "gpt-test", baseUrl: "http://127.0.0.1:9/v1", apiKey: "k" })],
    task: "x",
    onEvent: (event) => events.push(event),
    settings: { hostedTools: [webSearch()] },
  });
  expect((await report).ending.type).toBe("provider_failed");
  expect(events.find(({ type }) => type === "fallback_refused")).toMatchObject({
    model: "openai-chat:gpt-test",
    reason: expect.stringContaining("hostedTools") as string,
  });
});
