import { PortcullisError } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { scriptedModel } from "portcullis/testing";
import { expect, test } from "vitest";
import type { ErrorCode } from "../../src/base/index.ts";
import { ERROR_CODES } from "../../src/base/errors.ts";
import { holdSentences } from "../support/sentences.ts";
import { type Answer, type AskOptions, keyOf, KEYS, openServer } from "./servers.ts";

/** Codes whose errors name what the client has sent, and are passed on. */
const PASSED_ON: ReadonlySet<string> = new Set(["option_invalid", "decision_exists"]);
const CODES = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => !PASSED_ON.has(code));

const QUERIES = ["", "?q=", "?q=%20", `?q=${"x".repeat(401)}`, "?q=a&limit=0", "?q=a&limit=26", "?q=a&q=b", "?p=a"];
const program = "return await tools.crm.find({})";
/** Schemas of results. */
const SCHEMAS = [
  [],
  { $ref: "https://example.com/schema" },
  { pattern: "\\P{L}".repeat(3000) },
  { pattern: "[\\P{L}a][\\P{L}b]".repeat(300) },
  { pattern: "(a+)+\\1" },
  { description: "x".repeat(70_000) },
];
const BODIES = [
  { progam: "return 1" },
  { program, limits: { call: 3 } },
  { wait: true },
  { program, zzzzzzzzzz: 1 },
  "",
  { program, language: "python" },
  ...SCHEMAS.flatMap((result) => [true, false].map((wait) => ({ program, result, wait }))),
];
const MESSAGES = [
  { maxTurns: 3 },
  { maxTokens: 501 },
  { limits: { calls: 1e9 } },
  { tools: ["none"] },
  { message: "" },
  { message: [] },
  { message: [{ type: "sound" }] },
  { mesage: "x" },
  { id: ".." },
];

/** Requests that the server refuses by itself, each with another code. */
const REFUSED: readonly (readonly [method: string, path: string, asked: AskOptions])[] = [
  ["GET", "/v1/executions", { key: "none-that-the-server-has" }],
  ["GET", "/v1/executions", { key: keyOf("old") }],
  ["POST", "/v1/executions", { key: keyOf("ada"), body: {} }],
  ["GET", "/none", {}],
  ["PUT", "/v1/executions", {}],
  ["POST", "/v1/executions", { body: "{" }],
  ["POST", "/v1/executions", { body: "{}", headers: { "content-type": "text/plain" } }],
  ["POST", "/v1/executions", { body: "{}", headers: { "content-encoding": "gzip" } }],
  ["POST", "/v1/executions", { body: "{}", headers: { "content-length": "99999999" } }],
  ["GET", "/v1/executions", { headers: { host: "evil.example" } }],
  ["GET", "/v1/executions", { headers: { origin: "http://evil.example" } }],
  ["GET", "/v1/executions?cursor=gone", {}],
  ["GET", "/v1/executions?sate=ended", {}],
  ...QUERIES.map((query) => ["GET", `/v1/tools/search${query}`, {}] as const),
  ...BODIES.map((body) => ["POST", "/v1/executions", { body }] as const),
  ...MESSAGES.map(
    (more) => ["POST", "/v1/conversations", { key: keyOf("con"), body: { message: "x", ...more } }] as const,
  ),
  ["POST", "/v1/executions/waits/decisions", { body: { decisions: { 7: { allow: true, note: "no" } } } }],
  ["POST", "/v1/executions/waits/decisions", { body: { decisions: { 1: { alow: true } } } }],
];

/** What a client is told for a failure of the journal. */
async function toldFor(failure: Error) {
  const find = () => Promise.reject(failure);
  await using door = await openServer(undefined, { journal: { ...createMemoryJournal(), find } });
  const told = refusalOf(await door.ask("GET", "/v1/executions/x"));
  door.errors.length = 0;
  return told;
}

/** What a refused client is told, with the status. */
const refusalOf = ({ status, json }: Answer) => ({
  code: `${status} ${json.error.code}`,
  message: `${json.error.message}`,
});

test("each error of the runtime and each refusal of the server has a code and one sentence", async () => {
  const refusals: { readonly code: string; readonly message: string }[] = [];
  for (const code of CODES) refusals.push(await toldFor(new PortcullisError(code, "/srv/secret")));
  refusals.push(await toldFor(new Error("/srv/secret")));
  await using door = await openServer({ keys: KEYS, model: scriptedModel([]), maxTurns: 2, maxTokens: 500 });
  await door.run({ program: "return await tools.bank.pay({ amount: 3 });", id: "waits" });
  for (const [method, path, asked] of REFUSED) refusals.push(refusalOf(await door.ask(method, path, asked)));
  expect(await Array.fromAsync(door.runtime.executions.list())).toHaveLength(1);
  await door.run({ program: "return 1", id: "e" });
  refusals.push(refusalOf(await door.ask("GET", "/v1/executions/e/artifacts/none")));
  const slow = { key: keyOf("one"), body: { program: "return await tools.crm.slow({})", wait: false } };
  await door.ask("POST", "/v1/executions", slow);
  refusals.push(refusalOf(await door.ask("POST", "/v1/executions", slow)));
  for (let times = 0; times < 2; times += 1) await door.ask("GET", "/v1/executions", { key: keyOf("few") });
  refusals.push(refusalOf(await door.ask("GET", "/v1/executions", { key: keyOf("few") })));
  await door.server.close({ drainMs: 0 });
  refusals.push(refusalOf(await door.run({ program: "return 1" })));
  expect(JSON.stringify(refusals)).not.toContain("secret");
  // How long a key has to wait depends on the moment. What is the operator's alone is told alike.
  const sentences = refusals.map((one) => ({ ...one, message: one.message.replace(/\d+ s\./, "N s.") }));
  await holdSentences([...new Map(sentences.map((one) => [one.message, one])).values()]);
});
