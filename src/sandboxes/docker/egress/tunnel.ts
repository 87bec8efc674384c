import type { Socket } from "node:net";
import { beginsAsTls, readServerName, skipCipherChanges } from "./client-hello.ts";
import type { EgressConnection } from "./egress-connection.ts";
import type { EgressLimits } from "./egress-limits.ts";
import { EgressRefusal } from "./egress-refusal.ts";
import { readServerReply } from "./server-hello.ts";

/** Pieces in which a TLS connection may begin. An honest one comes in one or two. */
const MOST_PIECES = 64;

/** What a tunnel turned out to carry. */
export type Carried =
  | { readonly type: "tls"; readonly hello: Buffer }
  /** Something else, which was put back for the next reader. */
  | { readonly type: "plain" }
  | { readonly type: "refused"; readonly detail: string };

/** What a server answers to a greeting: it goes on with it, asks for another one in these bytes, or ends after them. */
type Reply =
  | { readonly type: "accepted" }
  | { readonly type: "retry"; readonly bytes: Buffer }
  | { readonly type: "ended"; readonly bytes: Buffer }
  | { readonly type: "strange" };

/** A verdict on the first bytes of a stream, and how many of them belong to it. */
interface Judged<Verdict> {
  readonly verdict: Verdict;
  readonly usedBytes: number;
}

/**
 * Waits for the first bytes of a tunnel. TLS is let through where it names the host that the tunnel was made for: the
 * host's address may be one of many hosts', and only one of them was allowed.
 */
export function carriedBy(client: Socket, host: string, headerBytes: number): Promise<Carried> {
  return readUntilJudged<Carried>(client, headerBytes, (bytes, isEnough) =>
    beginsAsTls(bytes) ? judgeHello(bytes, 0, host, isEnough) : { verdict: { type: "plain" }, usedBytes: 0 },
  );
}

/**
 * Joins the two sides of a tunnel, until both have ended or one has broken off. Nothing follows the client's greeting
 * before its server has accepted it: a server may ask for a second one, and that must name the same host. Rejects with an
 * `EgressRefusal` where it does not, or the server does not speak TLS.
 */
export async function joinTunnel(
  connection: EgressConnection,
  upstream: Socket,
  { hello, host, limits }: { readonly hello: Buffer; readonly host: string; readonly limits: EgressLimits },
): Promise<void> {
  const { client } = connection;
  upstream.once("close", (broken) => {
    if (!broken && upstream.readableEnded) return client.destroySoon();
    connection.end("failed", "The host ended it in the middle.");
    client.destroy();
  });
  const hand = (bytes: Buffer, to: Socket) => {
    connection.count(bytes.length);
    if (!connection.over.aborted) to.write(bytes);
  };
  for (let next = hello; ;) {
    hand(next, upstream);
    connection.expectWithin(limits.idleMs, `Nothing moved for ${limits.idleMs} ms.`);
    const reply = await replyOf(upstream, limits.headerBytes);
    if (connection.over.aborted) return;
    if (reply.type === "accepted") break;
    if (reply.type === "strange") throw new EgressRefusal(0, "", "The host does not answer as TLS does.", "failed");
    hand(reply.bytes, client);
    if (reply.type === "ended") return void upstream.end();
    connection.expectWithin(limits.headerMs, "The client did not say in time for whom its second greeting is.");
    const again = await nextHello(client, host, limits.headerBytes);
    if (connection.over.aborted) return;
    if (again.type !== "tls") throw new EgressRefusal(0, "", again.detail);
    next = again.hello;
  }
  connection.clientMayEnd = true;
  connection.pass(client, upstream);
  connection.pass(upstream, client);
}

/** The greeting that a server has asked for. Nothing else may come: data sent early would belong to the first one. */
function nextHello(client: Socket, host: string, headerBytes: number): Promise<Exclude<Carried, { type: "plain" }>> {
  return readUntilJudged(client, headerBytes, (bytes, isEnough) =>
    judgeHello(bytes, skipCipherChanges(bytes), host, isEnough),
  );
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
      ? "The name asked for in TLS is not that of the tunnel."
      : "The beginning of TLS does not say for whom it is.";
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
 * Reads the first bytes of a stream until there is a verdict on them, and pauses it. Those that do not belong to it are
 * put back for the next reader. `judge` must come to one once so many bytes, or pieces, have come (`isEnough`).
 */
function readUntilJudged<Verdict>(
  socket: Socket,
  mostBytes: number,
  judge: (bytes: Buffer, isEnough: boolean) => Judged<Verdict> | undefined,
  atEnd?: (bytes: Buffer) => Verdict,
): Promise<Verdict> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    let pieces = 0;
    const done = (verdict: Verdict) => {
      socket.off("data", onData);
      socket.off("end", onEnd);
      socket.pause();
      resolve(verdict);
    };
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      pieces += 1;
      const judged = judge(bytes, bytes.length > mostBytes || pieces > MOST_PIECES);
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
