import type { Socket } from "node:net";
import {
  beginsAsTls,
  CHANGE_CIPHER_SPEC,
  HANDSHAKE,
  readServerName,
  RECORD_HEADER_BYTES,
  skipCipherChanges,
} from "./client-hello.ts";
import type { EgressConnection } from "../egress-connection.ts";
import type { EgressLimits } from "../egress-plan.ts";
import { EgressRefusal } from "../egress-refusal.ts";
import { createHash } from "node:crypto";

/** Chunks in which the first TLS message may arrive. Normally it takes one or two. */
const MAX_CHUNKS = 64;

/** A verdict on the first bytes of a stream, and how many of them it consumes. */
interface Judged<Verdict> {
  readonly verdict: Verdict | EgressRefusal;
  readonly usedBytes: number;
}

/**
 * Waits for a tunnel's first bytes, and resolves with its ClientHello; with undefined if it is no TLS, whose bytes are put
 * back for the next reader. TLS must name the tunnel's host: others at its address may not be allowed.
 */
export function carriedBy(client: Socket, host: string, headerBytes: number): Promise<Buffer | undefined> {
  return readUntilJudged<Buffer | undefined>(client, headerBytes, (bytes, isEnough) =>
    beginsAsTls(bytes) ? judgeHello(bytes, 0, host, isEnough) : { verdict: undefined, usedBytes: 0 },
  );
}

/**
 * Forwards bytes between the two sides of a tunnel, until both have ended or one has broken off. After a ClientHello
 * nothing more is forwarded until the server has accepted it: the server may request a second one, which must name the
 * same host. Rejects with an `EgressRefusal` if it does not, or if the server does not answer with TLS.
 */
export async function joinTunnel(
  connection: EgressConnection,
  upstream: Socket,
  { hello, host, limits }: { readonly hello: Buffer; readonly host: string; readonly limits: EgressLimits },
): Promise<void> {
  const { client } = connection;
  upstream.once("close", (broken) => {
    if (!broken && upstream.readableEnded) return client.destroySoon();
    connection.end("failed", "The host broke off the connection.");
    client.destroy();
  });
  const forward = (bytes: Buffer, to: Socket) => {
    to.write(bytes);
    connection.charge();
  };
  for (let next = hello; ;) {
    forward(next, upstream);
    connection.expectWithin(limits.idleMs, `No bytes moved for ${limits.idleMs} ms.`);
    const reply = await replyOf(upstream, limits.headerBytes);
    if (connection.over.aborted) return;
    if (!reply) break;
    forward(reply.bytes, client);
    if (reply.isEnd) return void upstream.end();
    connection.expectWithin(limits.headerMs, "The client sent no complete second ClientHello in time.");
    // Nothing else may come before the second ClientHello: early data belongs to the first one.
    next = await readUntilJudged(client, limits.headerBytes, (bytes, isEnough) =>
      judgeHello(bytes, skipCipherChanges(bytes), host, isEnough),
    );
    if (connection.over.aborted) return;
  }
  connection.clientMayEnd = true;
  connection.pass(client, upstream);
  connection.pass(upstream, client);
}

function judgeHello(bytes: Buffer, start: number, host: string, isEnough: boolean): Judged<Buffer> | undefined {
  const seen = readServerName(bytes.subarray(start));
  if (seen.type === "named" && seen.name.toLowerCase() === host) {
    const usedBytes = start + seen.endsAt;
    return { verdict: bytes.subarray(0, usedBytes), usedBytes };
  }
  if (seen.type === "incomplete" && !isEnough) return undefined;
  const detail =
    seen.type === "named"
      ? "The server name in TLS is not the tunnel's host."
      : "The ClientHello has no readable server name.";
  return { verdict: new EgressRefusal(0, "", detail), usedBytes: bytes.length };
}

/** What a server has replied if it requests another ClientHello, or has ended; undefined once it has accepted this one. */
function replyOf(upstream: Socket, headerBytes: number) {
  return readUntilJudged<{ readonly bytes: Buffer; readonly isEnd: boolean } | undefined>(
    upstream,
    headerBytes,
    (bytes, isEnough) => {
      const seen = readServerReply(bytes);
      if (seen.type === "accepted") return { verdict: undefined, usedBytes: 0 };
      if (seen.type === "retry")
        return { verdict: { bytes: bytes.subarray(0, seen.endsAt), isEnd: false }, usedBytes: seen.endsAt };
      if (seen.type === "incomplete" && !isEnough) return undefined;
      const strange = new EgressRefusal(0, "", "The host did not answer with TLS.", "failed");
      return { verdict: strange, usedBytes: bytes.length };
    },
    (bytes) => ({ bytes, isEnd: true }),
  );
}

/**
 * Reads the first bytes of a stream until `judge` returns a verdict, and then pauses the stream. Bytes that the verdict
 * does not consume are put back for the next reader. Rejects with a verdict that is a refusal. `judge` must return a verdict when `isEnough` is true: the limit of
 * bytes or chunks is reached.
 */
function readUntilJudged<Verdict>(
  socket: Socket,
  maxBytes: number,
  judge: (bytes: Buffer, isEnough: boolean) => Judged<Verdict> | undefined,
  atEnd?: (bytes: Buffer) => Verdict,
): Promise<Verdict> {
  return new Promise((resolve, reject) => {
    let bytes: Buffer = Buffer.alloc(0);
    let chunks = 0;
    const done = (verdict: Verdict | EgressRefusal) => {
      socket.off("data", onData);
      socket.off("end", onEnd);
      socket.pause();
      if (verdict instanceof EgressRefusal) reject(verdict);
      else resolve(verdict);
    };
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      chunks += 1;
      const judged = judge(bytes, bytes.length > maxBytes || chunks > MAX_CHUNKS);
      if (!judged) return;
      done(judged.verdict);
      if (judged.usedBytes < bytes.length) socket.unshift(bytes.subarray(judged.usedBytes));
    };
    const onEnd = () => atEnd && done(atEnd(bytes));
    socket.on("data", onData);
    socket.on("end", onEnd);
    socket.resume();
  });
}

const ALERT = 21;
const SERVER_HELLO = 2;
/** Bytes of type, length and version, before the random number. */
const BEFORE_RANDOM_BYTES = 6;
const RANDOM_BYTES = 32;
/** The random number that marks a ServerHello as a HelloRetryRequest (RFC 8446, 4.1.3). */
const RETRY = createHash("sha256").update("HelloRetryRequest").digest();

/** What the first bytes of a server's reply to a ClientHello mean. */
type ReplySeen =
  | { readonly type: "incomplete" }
  /** The server continues with the ClientHello: it will not read another one. */
  | { readonly type: "accepted" }
  /** The server requests another ClientHello, in the records before `endsAt`. */
  | { readonly type: "retry"; readonly endsAt: number }
  /** The reply is not TLS. */
  | { readonly type: "strange" };

/** Reads whether a server requests a second ClientHello. Its message may span several records. */
export function readServerReply(bytes: Buffer): ReplySeen {
  let message = Buffer.alloc(0);
  for (let offset = 0; bytes.length > offset;) {
    const type = bytes[offset];
    // An alert may come first. A ChangeCipherSpec, sent for compatibility with older versions, may follow a first reply.
    if (type !== HANDSHAKE && type !== CHANGE_CIPHER_SPEC && type !== ALERT) return { type: "strange" };
    if (bytes.length < offset + RECORD_HEADER_BYTES) break;
    const start = offset + RECORD_HEADER_BYTES;
    offset = start + bytes.readUInt16BE(offset + 3);
    if (type !== HANDSHAKE) continue;
    if (offset === start) return { type: "strange" };
    message = Buffer.concat([message, bytes.subarray(start, offset)]).subarray(0, BEFORE_RANDOM_BYTES + RANDOM_BYTES);
    if (message.length > 0 && message[0] !== SERVER_HELLO) return { type: "strange" };
    if (message.length < BEFORE_RANDOM_BYTES + RANDOM_BYTES) continue;
    if (!message.subarray(BEFORE_RANDOM_BYTES).equals(RETRY)) return { type: "accepted" };
    return bytes.length < offset ? { type: "incomplete" } : { type: "retry", endsAt: offset };
  }
  return { type: "incomplete" };
}
