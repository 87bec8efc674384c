/*
 * A model behind Chat Completions, in a process of its own: its first word comes after FIRST_MS, and each further one after
 * PIECE_MS. Asked for a program it first writes one, which calls a tool of the client twice. Sends its address.
 */
import { createServer, type ServerResponse } from "node:http";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { ASK_PROGRAM, FIRST_MS, FIRST_WORD, PIECE_MS, PIECES, PROGRAM } from "./task.ts";

interface Asked {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

function isProgramAsked({ messages }: Asked): boolean {
  const said = messages.find(({ role }) => role === "user");
  return JSON.stringify(said).includes(ASK_PROGRAM) && messages.every(({ role }) => role !== "tool");
}

function send(response: ServerResponse, delta: object, finish: string | null = null): void {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "bench", choices };
  response.write(`data: ${JSON.stringify(chunk)}\n\n`);
}

async function answer(asked: Asked, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  await delay(FIRST_MS);
  if (isProgramAsked(asked)) {
    const call = { name: "run_program", arguments: JSON.stringify({ code: PROGRAM }) };
    send(response, { role: "assistant", tool_calls: [{ index: 0, id: "call_1", type: "function", function: call }] });
    send(response, {}, "tool_calls");
  } else {
    send(response, { role: "assistant", content: FIRST_WORD });
    for (let piece = 1; piece < PIECES; piece += 1) {
      await delay(PIECE_MS);
      send(response, { content: ` word ${piece}` });
    }
    send(response, {}, "stop");
  }
  const usage = { prompt_tokens: 100, completion_tokens: PIECES, total_tokens: 100 + PIECES };
  const last = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "bench", choices: [], usage };
  response.end(`data: ${JSON.stringify(last)}\n\ndata: [DONE]\n\n`);
}

const server = createServer((request, response) => {
  void json(request).then((body) => answer(body as Asked, response));
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object") process.send?.(`http://127.0.0.1:${address?.port}`);
});
process.once("disconnect", () => process.exit());
