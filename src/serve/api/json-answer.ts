import { jsonParts, Lane, type SlicedWork } from "../../base/index.ts";
import type { Key } from "../http/keys.ts";

/** Characters of an answer that become bytes at once. */
const CHARACTERS = 64 * 1024;

/** An answer of JSON, which is made in the tenant's share of the host's thread, and becomes bytes as its client reads it. */
export async function jsonAnswer({ tenant }: Key, value: unknown): Promise<Response> {
  return new Lane(tenant).work(answerOf(value));
}

function* answerOf(value: unknown): SlicedWork<Response> {
  const chunks: string[] = [];
  let [chunk, bytes] = ["", 0];
  const end = () => {
    chunks.push(chunk);
    bytes += Buffer.byteLength(chunk);
    chunk = "";
  };
  for (const part of yield* jsonParts(value)) {
    chunk += part;
    if (chunk.length < CHARACTERS) continue;
    end();
    yield;
  }
  if (chunks.length === 0) return textAnswer(chunk);
  end();
  const left = chunks.values();
  const encoder = new TextEncoder();
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const { done, value: text } = left.next();
    if (done) controller.close();
    else controller.enqueue(encoder.encode(text));
  };
  const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  return new Response(body, { headers: { ...JSON_TYPE, "content-length": String(bytes) } });
}

const JSON_TYPE = { "content-type": "application/json" };

/** Like `jsonAnswer`, of JSON text. */
export function textAnswer(text: string): Response {
  return new Response(text, { headers: JSON_TYPE });
}
