import type { Socket } from "node:net";
import { beginsAsTls, readServerName } from "./client-hello.ts";
import type { EgressConnection } from "./egress-connection.ts";

/** Pieces in which a TLS connection may begin. An honest one comes in one or two. */
const MOST_PIECES = 64;

/** What a tunnel turned out to carry. */
export type Carried =
  | { readonly type: "tls"; readonly hello: Buffer }
  /** Something else, which was put back for whoever reads it next. */
  | { readonly type: "plain" }
  | { readonly type: "refused"; readonly detail: string };

/**
 * Waits for the first bytes of a tunnel. TLS is let through where it names the host that the tunnel was made for: the
 * host's address may be one of many hosts', and only one of them was allowed.
 */
export function carriedBy(client: Socket, host: string, headerBytes: number): Promise<Carried> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    let pieces = 0;
    const done = (carried: Carried) => {
      client.off("data", onData);
      client.pause();
      resolve(carried);
    };
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      pieces += 1;
      if (!beginsAsTls(bytes)) {
        client.off("data", onData);
        client.pause();
        client.unshift(bytes);
        return resolve({ type: "plain" });
      }
      const seen = readServerName(bytes);
      if (seen.type === "named" && seen.name.toLowerCase() === host) return done({ type: "tls", hello: bytes });
      if (seen.type === "named")
        return done({ type: "refused", detail: "The name asked for in TLS is not that of the tunnel." });
      if (seen.type === "unnamed" || bytes.length > headerBytes || pieces > MOST_PIECES)
        return done({ type: "refused", detail: "The beginning of TLS does not say for whom it is." });
    };
    client.on("data", onData);
    client.resume();
  });
}

/** Joins the two sides of a tunnel, until both have ended or one has broken off. */
export function joinTunnel(connection: EgressConnection, upstream: Socket, hello: Buffer): void {
  const { client } = connection;
  connection.clientMayEnd = true;
  upstream.once("close", (broken) => {
    if (!broken && upstream.readableEnded) return client.destroySoon();
    connection.end("failed", "The host ended it in the middle.");
    client.destroy();
  });
  connection.count(hello.length);
  if (connection.over.aborted) return;
  upstream.write(hello);
  connection.pass(client, upstream);
  connection.pass(upstream, client);
}
