import type { Socket } from "node:net";
import { beginsAsTls, readServerName, skipCipherChanges } from "./client-hello.ts";
import type { EgressConnection } from "../egress-connection.ts";
import type { EgressLimits } from "../egress-plan.ts";
import { EgressRefusal } from "../egress-refusal.ts";
import { readServerReply } from "./server-hello.ts";

/** Chunks in which the first TLS message may arrive. Normally it takes one or two. */
const MAX_CHUNKS = 64;

/** What a tunnel carries, by its first bytes. */
export type Carried =
  | { readonly type: "tls"; readonly hello: Buffer }
  /** Not TLS. The bytes were put back for the next reader. */
  | { readonly type: "plain" }
  | { readonly type: "refused"; readonly detail: string };

/** A server's reply to a ClientHello: it accepts it, requests another one in these bytes, or ends after them. */
type Reply =
  | { readonly type: "accepted" }
  | { readonly type: "retry" | "ended"; readonly bytes: Buffer }
  | { readonly type: "strange" };

/** A verdict on the first bytes of a stream, and how many of them it consumes. */
interface Judged<Verdict> {
  readonly verdict: Verdict;
  readonly usedBytes: number;
}

/** Waits for a tunnel's first bytes. TLS must name the tunnel's host: others at its address may not be allowed. */
export function carriedBy(client: Socket, host: string, headerBytes: number): Promise<Carried> {
  return readUntilJudged<Carried>(client, headerBytes, (bytes, isEnough) =>
    beginsAsTls(bytes) ? judgeHello(bytes, 0, host, isEnough) : { verdict: { type: "plain" }, usedBytes: 0 },
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
    if (reply.type === "accepted") break;
    if (reply.type === "strange") throw new EgressRefusal(0, "", "The host did not answer with TLS.", "failed");
    forward(reply.bytes, client);
    if (reply.type === "ended") return void upstream.end();
    connection.expectWithin(limits.headerMs, "The client sent no complete second ClientHello in time.");
    // Nothing else may come before the second ClientHello: early data belongs to the first one.
    const second = await readUntilJudged(client, limits.headerBytes, (bytes, isEnough) =>
      judgeHello(bytes, skipCipherChanges(bytes), host, isEnough),
    );
    if (connection.over.aborted) return;
    if (second.type !== "tls") throw new EgressRefusal(0, "", second.detail);
    next = second.hello;
  }
  connection.clientMayEnd = true;
  connection.pass(client, upstream);
  connection.pass(upstream, client);
}

function judgeHello(
  bytes: Buffer,
  start: number,
  host: string,
  isEnough: boolean,
): Judged<Exclude<Carried, { type: "plain" }>> | undefined {
  const seen = readServerName(bytes.subarray(start));
  if (seen.type === "named" && seen.name.toLowerCase() === host) {
    const usedBytes = start + seen.endsAt;
    return { verdict: { type: "tls", hello: bytes.subarray(0, usedBytes) }, usedBytes };
  }
  if (seen.type === "incomplete" && !isEnough) return undefined;
  const detail =
    seen.type === "named"
      ? "The server name in TLS is not the tunnel's host."
      : "The ClientHello has no readable server name.";
  return { verdict: { type: "refused", detail }, usedBytes: bytes.length };
}

function replyOf(upstream: Socket, headerBytes: number): Promise<Reply> {
  return readUntilJudged<Reply>(
    upstream,
    headerBytes,
    (bytes, isEnough) => {
      const seen = readServerReply(bytes);
      if (seen.type === "accepted") return { verdict: seen, usedBytes: 0 };
      if (seen.type === "retry")
        return { verdict: { type: "retry", bytes: bytes.subarray(0, seen.endsAt) }, usedBytes: seen.endsAt };
      return seen.type === "strange" || isEnough
        ? { verdict: { type: "strange" }, usedBytes: bytes.length }
        : undefined;
    },
    (bytes) => ({ type: "ended", bytes }),
  );
}

/**
 * Reads the first bytes of a stream until `judge` returns a verdict, and then pauses the stream. Bytes that the verdict
 * does not consume are put back for the next reader. `judge` must return a verdict when `isEnough` is true: the limit of
 * bytes or chunks is reached.
 */
function readUntilJudged<Verdict>(
  socket: Socket,
  maxBytes: number,
  judge: (bytes: Buffer, isEnough: boolean) => Judged<Verdict> | undefined,
  atEnd?: (bytes: Buffer) => Verdict,
): Promise<Verdict> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    let chunks = 0;
    const done = (verdict: Verdict) => {
      socket.off("data", onData);
      socket.off("end", onEnd);
      socket.pause();
      resolve(verdict);
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
