import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { openServerProcess } from "./processes.ts";

const document = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8");
const [, first = ""] = /^```shell\n([^]*?)^```$/m.exec(document) ?? [];

test("the first requests of the document are answered as it says", { timeout: 60_000 }, async () => {
  await using server = await openServerProcess();
  const commands = first.replaceAll("http://127.0.0.1:7332", server.url).replace("the-token", server.token);
  const { stdout } = await promisify(execFile)("sh", ["-ec", commands]);
  expect(stdout.match(/"outcome":\{"type":"completed","value":2\}/g)).toHaveLength(2);
  expect(stdout).toContain("event: execution_ended");
});
