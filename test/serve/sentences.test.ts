import { PortcullisError } from "portcullis";
import { createMemoryJournal } from "portcullis/journal";
import { expect, test } from "vitest";
import { holdSentences } from "../support/sentences.ts";
import { type AskOptions, keyOf, openServer } from "./servers.ts";

/** Codes whose sentence is the server's own, whatever the runtime says. */
const OF_JOURNALS = [
  "execution_unknown",
  "tools_changed",
  "busy",
  "queue_full",
  "sandbox_unavailable",
  "runtime_closed",
  "runtime_suspended",
  "journal_gone",
  "journal_locked",
  "journal_unavailable",
  "journal_full",
  "journal_corrupt",
  "journal_read_only",
  "journal_version",
  "journal_invalid",
] as const;

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
  return (await door.ask("GET", "/v1/executions/x")).json.error;
}

test("each refusal of the server has a code and one sentence", async () => {
  const refusals: { readonly code: string; readonly message: string }[] = [];
  for (const code of OF_JOURNALS) refusals.push(await toldFor(new PortcullisError(code, "/srv/secret")));
  refusals.push(await toldFor(new Error("/srv/secret")));
  await using door = await openServer();
  for (const [method, path, asked] of REFUSED) refusals.push((await door.ask(method, path, asked)).json.error);
  await door.ask("POST", "/v1/executions", { body: { program: "return 1", execution: "e" } });
  refusals.push((await door.ask("GET", "/v1/executions/e/artifacts/none")).json.error);
  const slow = { key: keyOf("one"), body: { program: "return await tools.crm.slow({})", wait: false } };
  await door.ask("POST", "/v1/executions", slow);
  refusals.push((await door.ask("POST", "/v1/executions", slow)).json.error);
  for (let times = 0; times < 2; times += 1) await door.ask("GET", "/v1/executions", { key: keyOf("few") });
  refusals.push((await door.ask("GET", "/v1/executions", { key: keyOf("few") })).json.error);
  await door.server.close({ drainMs: 0 });
  refusals.push((await door.ask("POST", "/v1/executions", { body: { program: "return 1" } })).json.error);
  expect(JSON.stringify(refusals)).not.toContain("secret");
  // How long a key has to wait depends on the moment.
  await holdSentences(refusals.map((one) => ({ ...one, message: one.message.replace(/\d+ s\./, "N s.") })));
});
