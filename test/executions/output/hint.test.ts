import { expect, test } from "vitest";
import { z } from "zod";
import { hintFor } from "../../../src/executions/output/hint.ts";
import type { Caller } from "../../../src/tools/tool.ts";
import { ToolSet } from "../../../src/tools/tool-set.ts";
import { makeTool } from "../../support/tools.ts";

const tool = (name: string, ...allowedCallers: Caller[]) => makeTool({ name, allowedCallers, execute: () => null });

const tools = new ToolSet([
  tool("crm.listPeople", "programmatic"),
  tool("billing.listInvoices", "direct", "programmatic"),
  tool("crm.listPersons", "direct"),
]);

const hint = (message: string, excerpt?: string) =>
  hintFor({ name: "TypeError", message, ...(excerpt === undefined ? {} : { excerpt }) }, tools);

test("a name that is looked for on the global object is answered in the same way, and a name of JavaScript is not in Python", () => {
  const answer = hint("fetch is not defined");
  expect(answer).toContain("network");
  expect(hint("globalThis.fetch is not a function")).toBe(answer);
  expect(hint("globalThis.WebSocket is not a constructor")).toBe(answer);
  expect(hint("globalThis.toString is not a constructor")).toBeUndefined();
  expect(hint("name 'z' is not defined")).toBeUndefined();
});

test("who is refused for too many requests at once is told to make fewer, and to wait", () => {
  const fault = (name: string, message: string) => hintFor({ name, message }, tools);
  for (const message of ["429 Too Many Requests (Retry-After: 2)", "shop: status 429", "Rate limit exceeded"])
    expect(fault("ToolError", message)).toMatch(/^Make fewer calls at once\..* timers\.$/);
  expect(fault("ToolError", "order 4290 is closed")).toBeUndefined();
});

test("who forgets tools. before a tool is told of that tool, not of others of its namespace", () => {
  const crm = new ToolSet(["crm.addNote", "crm.list", "crm.merge"].map((name) => tool(name, "programmatic")));
  const hintAt = (message: string, excerpt: string) => hintFor({ name: "ReferenceError", message, excerpt }, crm);
  const meant = "Did you mean tools.crm.list?";
  expect(hintAt("crm is not defined", "const all = await crm.list({});")).toBe(meant);
  expect(hintAt("crm is not defined", "const all = await crm.lst({});")).toBe(meant);
  expect(hintAt("name 'crm' is not defined", "people = await crm.list()")).toBe(meant);
});

test("a suggestion never is what was written", () => {
  expect(hint("tools.crm.listPeople is not a function")).toContain("tools.crm.listPeople, tools.billing.listInvoices");
  const short = new ToolSet([tool("ping", "programmatic")]);
  expect(hintFor({ name: "ReferenceError", message: "ping is not defined" }, short)).toBe("Did you mean tools.ping?");
  expect(hintFor({ name: "TypeError", message: "tools.ping is not a function" }, short)).not.toContain("Did you mean");
});

test("an error after a promise was used as a result tells of that too", () => {
  const fault = { name: "Error", message: "No.", unawaited: "crm.listPeople" };
  const unawaited = hintFor(fault, tools) ?? "";
  expect(unawaited).toContain("tools.crm.listPeople(…)");
  const both = hintFor({ ...fault, message: "fetch is not defined" }, tools) ?? "";
  expect([both.includes("network"), both.endsWith(` ${unawaited}`)]).toEqual([true, true]);
});

test("a long list is cut, and says by how much; an empty one is said", () => {
  const many = new ToolSet(Array.from({ length: 15 }, (_, index) => tool(`tool${index}`, "programmatic")));
  const fault = { name: "TypeError", message: "tools.zzzzzzzz is not a function" };
  expect(hintFor(fault, many)).toMatch(/tools\.tool0, .*tools\.tool11 and 3 more/);
  expect(hintFor(fault, new ToolSet([tool("hidden", "direct")]))).not.toContain("hidden");
});

test("a tool that only the model may call directly is in no hint", () => {
  for (const message of [
    "tools.crm.listPersons is not a function",
    "tools.crm.listPerson is not a function",
    "tools.crm.listPersons is not iterable",
    "listPersons is not defined",
    "tools.zzzzzz is not a function",
    "tools.crm has no tool 'listPersons'",
  ])
    expect(hint(message) ?? "").not.toContain("listPersons");
});

test.each<[string, string?]>([
  ["rows.map is not a function", "rows.map(f)"],
  ["rows.map is not a function", "const rows = await tools.crm.listPeople({}); rows.map(f)"],
  ["Cannot read properties of undefined (reading 'a')", "b.a"],
  ["Cannot read properties of undefined (reading 'a')"],
  ["No customer has this id."],
  ["toString is not defined"],
  ["name 'total' is not defined"],
  ["'int' object is not iterable"],
  ["'int' and 'str'"],
  ["crm has no tool 'listPeople'"],
])("nothing is said about %j (%j)", (message, excerpt) => {
  expect(hint(message, excerpt)).toBeUndefined();
});

const MEANT = "Did you mean tools.crm.listPeople?";
const CALL_IT = "Call it: tools.crm.listPeople({ … }).";
const AWAIT_IT = "It returns before its result is ready: await it, and read a stream with `async for item in ...`.";
const LIBRARY = "Python's standard library is available, and no other package.";
const SEARCH = expect.stringContaining("searchTools(") as string;

test.each<[message: string, hint: string, excerpt?: string]>([
  ["tools.crm.listPeopl is not a function", MEANT],
  ["listPeople is not defined", MEANT],
  ["Cannot read properties of undefined (reading 'listPeople')", MEANT, "await tools.cmr.listPeople({});"],
  ["tools.crm.listPeople is not iterable", CALL_IT, "for await (const one of tools.crm.listPeople)"],
  ["tools.crm.listPeople is not async iterable", CALL_IT, "for await (const one of tools.crm.listPeople)"],
  ["tools.crm.listPeopl is not iterable", MEANT, "for await (const one of tools.crm.listPeopl)"],
  ["name 'json' is not defined", "Import it first: import json."],
  ["name 'fetch' is not defined", "A program has no network access. Use `tools` to reach anything outside."],
  ["No module named 'requests'", `Use \`tools\` to reach anything outside. ${LIBRARY}`],
  ["No module named 'pandas.core'", `${LIBRARY} Write the code it needs into the program.`],
  ["'coroutine' object is not iterable", AWAIT_IT],
  ["unsupported operand type(s) for +: 'int' and 'coroutine'", AWAIT_IT],
  ["'<' not supported between instances of 'Task' and 'int'", AWAIT_IT],
  ["Object of type coroutine is not JSON serializable", AWAIT_IT],
  ["unsupported operand type(s) for +: 'ToolCall' and 'int'", AWAIT_IT],
  ["unsupported format string passed to ToolCall.__format__", AWAIT_IT],
  ["'ToolStream' object does not support the asynchronous context manager protocol", AWAIT_IT],
  ["tools.search_tools is not a function", SEARCH],
  ["tools.searchTools is not a function", SEARCH],
  ["tools has no tool 'search_tools'", SEARCH],
  ["name 'search_tools' is not defined", SEARCH],
])("who reads %j is told %j", (message, expected, excerpt) => {
  expect(hint(message, excerpt)).toEqual(expected);
});

const withOutput = (name: string, output: z.ZodType) => makeTool({ name, outputSchema: output, execute: () => null });

const desk = new ToolSet([
  withOutput("desk.list", z.object({ tickets: z.array(z.object({ title: z.string(), createdAt: z.string() })) })),
  withOutput("desk.count", z.number()),
  withOutput("shop.list", z.object({ orders: z.array(z.object({ items: z.array(z.string()) })) })),
]);
const fieldHint = (message: string, excerpt: string, ...called: string[]) =>
  hintFor({ name: message.startsWith("'") ? "KeyError" : "TypeError", message, excerpt }, desk, called);

const LISTED = 'A result of tools.desk.list has no field "items". It has "tickets".';
const CREATED = 'A result of tools.desk.list has no field "created_at". Did you mean "createdAt"?';
const undefinedField = (name: string) => `Cannot read properties of undefined (reading '${name}')`;
const ALL = ["desk.list", "desk.count", "desk.list"];

test.each<[what: string, message: string, excerpt: string, called: readonly string[], expected?: string]>([
  ["no result has", undefinedField("length"), "return r.items.length", ALL, LISTED],
  ["no result has", undefinedField("map"), "return r.items?.a ?? items.map((x) => x)", ALL, LISTED],
  ["no result has", "r.items is not iterable", "for (const one of r.items) print(one)", ALL, LISTED],
  ["no result has", "'items'", 'return r["items"]', ALL, LISTED],
  ["no item has", undefinedField("slice"), "r.tickets.map((x) => x.created_at.slice(0, 4))", ALL, CREATED],
  ["a result may have", undefinedField("length"), "return r.tickets.length", ["desk.list"]],
  ["another result may have", undefinedField("length"), "return r.items.length", ["desk.list", "shop.list"]],
  ["no result that was read could have", undefinedField("length"), "return r.items.length", []],
  ["results without fields have not", undefinedField("length"), "return r.items.length", ["desk.count"]],
])("who looks for a field that %s is told what there is, where that can be told: %s in %s", (_, ...given) => {
  const [message, excerpt, called, expected] = given;
  expect(fieldHint(message, excerpt, ...called)).toBe(expected);
});

test.each([
  ["tools.shop.order is not a function or its return value is not async iterable", "Did you mean tools.shop.orders?"],
  [
    "tools.shop.orders(...).then is not a function",
    "A stream is read item by item: for await (const item of tools.shop.orders(…)).",
  ],
  ["rows.map is not a function", "A stream is read item by item: for await (const item of tools.shop.orders(…))."],
  [
    "tools.shop.list is not a function or its return value is not async iterable",
    "tools.shop.list gives one result and no stream. Await it: const result = await tools.shop.list(…).",
  ],
  ["Cannot read properties of undefined (reading 'customer')", undefined],
])("of a stream: %s", (message, expected) => {
  const id = z.object({ id: z.string() });
  const orders = makeTool({ name: "shop.orders", outputSchema: id, stream: true, execute: () => [] });
  const list = makeTool({ name: "shop.list", execute: () => [] });
  const excerpt = message.includes("customer") ? "found.customer" : "const rows = tools.shop.orders({}); rows.map(f)";
  const fault = { name: "TypeError", message, excerpt };
  expect(hintFor(fault, new ToolSet([orders, list]), ["shop.orders"])).toBe(expected);
});
