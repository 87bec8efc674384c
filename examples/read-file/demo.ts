import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { createRuntime } from "portcullis";
import type { Scene } from "../scene.ts";
import { type Message, messagesOf } from "./messages.ts";
import model from "./model.ts";
import tools from "./tools.ts";

const TASK = "When and where does the talk about glaciers that sing begin? The programme is in programme.md.";

/** The loop of a model and one tool, message by message. It is the same in every run. */
export default async function readFile({ heading, print, signal }: Scene): Promise<boolean> {
  await using runtime = await createRuntime({ tools });
  const { transcript } = await runtime.agent({ model, task: TASK, tools: ["read_file"], signal });
  const messages = messagesOf(transcript);
  heading("the messages, in their order");
  for (const message of messages) print(lineOf(message));
  const text = readFileSync(new URL("transcript.json", import.meta.url), "utf8");
  return isDeepStrictEqual(messages, JSON.parse(text));
}

function lineOf(message: Message): string {
  if (message.type === "user") return `user       ${message.text}`;
  if (message.type === "tool") return `tool       ${message.callId}: ${message.text}`;
  const calls = message.calls.map(({ id, tool, input }) => `${id}: ${tool} ${JSON.stringify(input)}`);
  return `assistant  ${[message.text, ...calls].filter((part) => part !== "").join("  ")}`;
}
