import { test } from "vitest";
import { fromMcp } from "portcullis";
import { holdSentences } from "../support/sentences.ts";
import { callTool, operationOf, sendJson, sourceOf, specOf, startServer } from "./openapi/api-server.ts";
import { servedRaw } from "./mcp/served-raw.ts";
import { call, READ } from "./mcp/servers.ts";

const statusOf = (status: number) => async () => {
  await using server = await startServer((_, response) => sendJson(response, { message: "none" }, status));
  const { tools } = await sourceOf(operationOf({}), { baseUrl: server.baseUrl });
  return await callTool(tools, "api.call", {});
};
const leftOut = async () => (await sourceOf(specOf({ "/a": { $ref: "#/paths/none" } }))).problems[0];
/** What a program reads of a call of the server that behaves in this way, or why no source is made of it. */
const saidBy = (mode: string) => async () => {
  await using source = await fromMcp(await servedRaw(mode), READ);
  return await call(source.tools, 'raw.echo({ text: "hi" })');
};

test("each failure of a source has a code and one sentence, and so has what is left out", () =>
  holdSentences([
    ...[302, 401, 404, 422, 429, 500].map(statusOf),
    async () => {
      const { tools } = await sourceOf(operationOf({}), { baseUrl: "http://127.0.0.1:1" });
      return await callTool(tools, "api.call", {});
    },
    leftOut,
    () => sourceOf("none"),
    () => sourceOf(specOf({}), { baseUrl: "ftp://a" }),
    ...["no-list", "no-result", "asks-again"].map(saidBy),
    () => fromMcp({ name: "a" }, READ),
    () => fromMcp({ name: "a", command: "portcullis-none" }, READ),
  ]));
