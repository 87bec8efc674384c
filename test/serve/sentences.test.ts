import { PortcullisError } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { expect, test } from "vitest";
import type { ErrorCode } from "../../src/base/index.ts";
import { ERROR_CODES } from "../../src/base/errors.ts";
import { holdSentences } from "../support/sentences.ts";
import { type AskOptions, keyOf, openServer } from "./servers.ts";

/** Codes whose errors name what the client has sent, and are passed on. */
const PASSED_ON: ReadonlySet<string> = new Set(["option_invalid", "decision_exists"]);
const CODES = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) => !PASSED_ON.has(code));

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
];

/** What a client is told for a failure of the journal. */
async function toldFor(failure: Error) {
  const find = () => Promise.reject(failure);
  await using door = await openServer(undefined, { journal: { ...createMemoryJournal(), find } });
  const { json } = await door.ask("GET", "/v1/executions/x");
  door.errors.length = 0;
  return json.error;
}

test("each error of the runtime and each refusal of the server has a code and one sentence", async () => {
  const refusals: { readonly code: string; readonly message: string }[] = [];
  for (const code of CODES) refusals.push(await toldFor(new PortcullisError(code, "/srv/secret")));
  refusals.push(await toldFor(new Error("/srv/secret")));
  await using door = await openServer();
  for (const [method, path, asked] of REFUSED) refusals.push((await door.ask(method, path, asked)).json.error);
  await door.run({ program: "return 1", id: "e" });
  refusals.push((await door.ask("GET", "/v1/executions/e/artifacts/none")).json.error);
  const slow = { key: keyOf("one"), body: { program: "return await tools.crm.slow({})", wait: false } };
  await door.ask("POST", "/v1/executions", slow);
  refusals.push((await door.ask("POST", "/v1/executions", slow)).json.error);
  for (let times = 0; times < 2; times += 1) await door.ask("GET", "/v1/executions", { key: keyOf("few") });
  refusals.push((await door.ask("GET", "/v1/executions", { key: keyOf("few") })).json.error);
  await door.server.close({ drainMs: 0 });
  refusals.push((await door.run({ program: "return 1" })).json.error);
  expect(JSON.stringify(refusals)).not.toContain("secret");
  // How long a key has to wait depends on the moment. What is the operator's alone is told alike.
  const sentences = refusals.map((one) => ({ ...one, message: one.message.replace(/\d+ s\./, "N s.") }));
  await holdSentences([...new Map(sentences.map((one) => [one.message, one])).values()]);
});
