import { createHash } from "node:crypto";
import { CHANGE_CIPHER_SPEC, HANDSHAKE, RECORD_HEADER_BYTES } from "./client-hello.ts";

const ALERT = 21;
const SERVER_HELLO = 2;
/** Bytes of type, length and version, before the random number. */
const BEFORE_RANDOM_BYTES = 6;
const RANDOM_BYTES = 32;
/** The random number that marks a ServerHello as a HelloRetryRequest (RFC 8446, 4.1.3). */
const RETRY = createHash("sha256").update("HelloRetryRequest").digest();

/** What the first bytes of a server's reply to a ClientHello mean. */
export type ReplySeen =
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
