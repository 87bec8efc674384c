import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import model from "./fixtures/echo-model.ts";
import { openServerProcess } from "./processes.ts";
import { newFolder } from "../support/new-folder.ts";

const folder = newFolder();
const MODEL = fileURLToPath(new URL("fixtures/echo-model.ts", import.meta.url));

test("`portcullis serve --model` has the models that it names, within its bounds, and the document's requests are answered", async () => {
  const document = readFileSync(new URL("../../docs/http.md", import.meta.url), "utf8");
  const [, commands = ""] = /^## Conversations$[^]*?^```shell\n([^]*?)^```$/m.exec(document) ?? [];
  const options = ["--model", MODEL, "--set", "maxTurns=3", "--set", "maxTokens=5000"];
  await using server = await openServerProcess(...options, "--journal", join(folder, "cli.db"));
  expect(await (await server.ask("GET", "/v1/models")).json()).toMatchObject({
    models: [model.name],
    maxTurns: 3,
    maxTokens: 5000,
  });
  const { stdout } = await promisify(execFile)(
    "sh",
    ["-ec", commands.replaceAll("http://127.0.0.1:7332", server.url)],
    {
      env: { ...process.env, KEY: server.token },
    },
  );
  for (const answer of ["heard What has Ann ordered?", "heard And Bob?"]) expect(stdout).toContain(answer);
  expect(await server.end("SIGTERM")).toBe(0);
  await using next = await openServerProcess(...options, "--journal", join(folder, "cli.db"));
  const said = await next.ask("POST", "/v1/conversations/chat-1", { message: "And now?", expect: 2 });
  expect(await said.json()).toMatchObject({ conversation: { said: 3, ending: { answer: "heard And now?" } } });
}, 60_000);
