import { jsonParts, Lane, type SlicedWork } from "../../base/index.ts";
import type { Key } from "../http/keys.ts";

/** Characters of an answer that become bytes at once. */
const CHARACTERS = 64 * 1024;

/** An answer of JSON, which is made in the tenant's share of the host's thread, and becomes bytes as its client reads it. */
export async function jsonAnswer({ tenant }: Key, value: unknown): Promise<Response> {
  const lane = new Lane(tenant);
  return lane.work(answerOf(value, lane));
}

function* answerOf(value: unknown, lane: Lane): SlicedWork<Response> {
  const parts = yield* jsonParts(value);
  let [bytes, at] = [0, 0];
  for (const part of parts) {
    bytes += Buffer.byteLength(part);
    yield;
  }
  if (bytes < CHARACTERS) return textAnswer(parts.join(""));
  const encoder = new TextEncoder();
  const write = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    let chunk = "";
    while (at < parts.length && chunk.length < CHARACTERS) chunk += parts[at++];
    if (chunk === "") controller.close();
    else controller.enqueue(encoder.encode(chunk));
  };
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => lane.run(() => write(controller));
  const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 });
  return new Response(body, { headers: { ...JSON_TYPE, "content-length": String(bytes) } });
}

const JSON_TYPE = { "content-type": "application/json" };

/** Like `jsonAnswer`, of JSON text. */
export function textAnswer(text: string): Response {
  return new Response(text, { headers: JSON_TYPE });
}
