import { Agent as HttpAgent, request as requestHttp, type ClientRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { ByteList } from "../values/byte-list.ts";
import { readBoundedJson } from "../values/json/bounded-json.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { HEADERS } from "./wire.ts";

/** Beside the value of an answer: its form, or a sentence. */
const MORE_BYTES = 64 * 1024;
const MORE_VALUES = 100;
const DEPTH = 110;
/** A connection that was not used for this long is not used again, in milliseconds: an owner keeps it for five seconds. */
const IDLE_MS = 4000;

const agents = {
  "http:": new HttpAgent({ keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 64 }),
  "https:": new HttpsAgent({ keepAlive: true, timeout: IDLE_MS, maxFreeSockets: 64 }),
};

export interface Asked {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly tenant: string;
  readonly signal: AbortSignal;
  /** Aborted when the owner has had its time to answer, and counts as gone. */
  readonly silent?: AbortSignal;
  /**
   * Whether it gets a connection of its own. A connection that was used before may end in the moment in which it is used
   * again, and it is not known then whether the request arrived.
   */
  readonly isAlone?: boolean;
  /** Bounds of the value in the answer. */
  readonly resultBytes: number;
  readonly resultValues: number;
}

export interface OwnerReply {
  readonly status: number;
  /** Undefined for a body that is no JSON, or exceeds the bounds. */
  readonly body: unknown;
  readonly fault: "bytes" | "values" | "depth" | "syntax" | undefined;
  readonly instance: string | undefined;
}

/** No answer of an owner. */
export class OwnerSilent extends Error {
  /** Whether the owner may have received the request. */
  readonly mayHaveArrived: boolean;

  constructor(mayHaveArrived: boolean, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.mayHaveArrived = mayHaveArrived;
  }
}

/**
 * One request to an owner, and its answer within bounds. No redirect is followed. Rejects with `OwnerSilent`, and with the
 * reason of the signal.
 */
export async function askOwner(url: string, asked: Asked): Promise<OwnerReply> {
  const { signal, silent } = asked;
  let request: ClientRequest | undefined;
  let response: IncomingMessage | undefined;
  let hasArrived = false;
  try {
    response = await new Promise<IncomingMessage>((resolve, reject) => {
      const address = new URL(url + asked.path);
      const isSecure = address.protocol === "https:";
      request = (isSecure ? requestHttps : requestHttp)(address, {
        method: asked.method,
        agent: asked.isAlone ? false : agents[isSecure ? "https:" : "http:"],
        signal: silent ? AbortSignal.any([signal, silent]) : signal,
        headers: {
          authorization: `Bearer ${asked.key}`,
          ...asked.headers,
          ...(asked.body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": String(Buffer.byteLength(asked.body)) }),
        },
      });
      request.once("socket", (socket) => {
        if (!socket.connecting) hasArrived = true;
        else socket.once("connect", () => (hasArrived = true));
      });
      request.once("response", resolve);
      request.on("error", reject);
      request.end(asked.body);
    });
    return await read(response, asked);
  } catch (error) {
    signal.throwIfAborted();
    throw new OwnerSilent(hasArrived, silent?.aborted ? new Error("it has had its time to answer") : error);
  } finally {
    // An answer that was not read to its end, or a second one, ends with its connection.
    if (response?.complete !== true) request?.destroy();
  }
}

async function read(
  response: IncomingMessage,
  { headers = {}, resultBytes, resultValues, tenant }: Asked,
): Promise<OwnerReply> {
  const owner = response.headers[HEADERS.owner];
  const base = {
    status: response.statusCode ?? 0,
    instance: typeof owner === "string" ? owner.slice(0, 100) : undefined,
  };
  // An answer to another call is none.
  const call = headers[HEADERS.call];
  if (call !== undefined && response.headers[HEADERS.call] !== call)
    return { ...base, body: undefined, fault: "syntax" };
  const most = resultBytes + MORE_BYTES;
  const bytes = new ByteList();
  if (Number(response.headers["content-length"] ?? 0) > most) return { ...base, body: undefined, fault: "bytes" };
  for await (const chunk of response) {
    bytes.add(chunk as Uint8Array);
    if (bytes.bytes > most) return { ...base, body: undefined, fault: "bytes" };
  }
  if (!response.complete) throw new Error("The answer ended before its end.");
  const bounds = { depth: DEPTH, values: resultValues + MORE_VALUES };
  const found = await readBoundedJson(bytes.take().toString("utf8"), bounds, new Lane(tenant));
  return found.ok ? { ...base, body: found.value, fault: undefined } : { ...base, body: undefined, fault: found.fault };
}
