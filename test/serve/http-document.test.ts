import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import model from "./fixtures/echo-model.ts";
import { openServer } from "./servers.ts";

const TOKEN = "a-token-of-this-test";
const document = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8");
const [, first = ""] = /^```shell\n([^]*?)^```$/m.exec(document) ?? [];
const [, said = ""] = /^## Conversations$[^]*?^```shell\n([^]*?)^```$/m.exec(document) ?? [];

test("the requests of the document are answered as it says", async () => {
  await using door = await openServer({ token: TOKEN, model });
  const { url } = await door.server.listen({ port: 0 });
  const commands = `${first}\n${said}`.replaceAll("http://127.0.0.1:7332", url).replaceAll("the-token", TOKEN);
  const { stdout } = await promisify(execFile)("sh", ["-ec", commands], { env: { ...process.env, KEY: TOKEN } });
  expect(stdout.match(/"outcome":\{"type":"completed","value":2\}/g)).toHaveLength(2);
  expect(stdout).toContain("event: execution_ended");
  for (const answer of ["heard What has Ann ordered?", "heard And Bob?"]) expect(stdout).toContain(answer);
});
