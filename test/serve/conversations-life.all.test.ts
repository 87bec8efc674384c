import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import model from "./fixtures/echo-model.ts";
import { openServerProcess } from "./processes.ts";
import { newFolder } from "../support/new-folder.ts";

const folder = newFolder();
const MODEL = fileURLToPath(new URL("fixtures/echo-model.ts", import.meta.url));

test("`portcullis serve --model` has the models that it names, within its bounds, and continues its conversations when it is started anew", async () => {
  const bounds = ["maxTurns=3", "maxTokens=5000"].flatMap((bound) => ["--set", bound]);
  const options = ["--model", MODEL, ...bounds, "--journal", join(folder, "cli.db")];
  const say = async (path: string, body: object) => {
    await using server = await openServerProcess(...options);
    const models = await (await server.ask("GET", "/v1/models")).json();
    expect(models).toMatchObject({ models: [model.name], maxTurns: 3, maxTokens: 5000 });
    const said: unknown = await (await server.ask("POST", `/v1/conversations${path}`, body)).json();
    expect(await server.end("SIGTERM")).toBe(0);
    return said;
  };
  await say("", { id: "chat-1", message: "What has Ann ordered?" });
  const said = await say("/chat-1", { message: "And now?", expect: 1 });
  expect(said).toMatchObject({ conversation: { said: 2, ending: { answer: "heard And now?" } } });
}, 60_000);
