export const RECORD_HEADER_BYTES = 5;
const HANDSHAKE_HEADER_BYTES = 4;
export const CHANGE_CIPHER_SPEC = 20;
export const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const ENCRYPTED_CLIENT_HELLO = 0xfe_0d;
const HOST_NAME = 0;
/** Bytes of version and random number, before the first field of variable length. */
const FIXED_BYTES = 34;

/** What the first bytes of a client say about a TLS connection. */
export type HelloSeen =
  | { readonly type: "incomplete" }
  /** The requested server name, as sent, in the records before `endsAt`. */
  | { readonly type: "named"; readonly name: string; readonly endsAt: number }
  /** The server name is unknown: there is no ClientHello, or it has no name or a second, encrypted name. */
  | { readonly type: "unnamed" };

const INCOMPLETE: HelloSeen = { type: "incomplete" };
const UNNAMED: HelloSeen = { type: "unnamed" };

export function beginsAsTls(bytes: Buffer): boolean {
  return bytes[0] === HANDSHAKE;
}

/** The offset after the leading ChangeCipherSpec records, which have no meaning before a second ClientHello. */
export function skipCipherChanges(bytes: Buffer): number {
  const recordBytes = RECORD_HEADER_BYTES + 1;
  let offset = 0;
  while (
    bytes.length >= offset + recordBytes &&
    bytes[offset] === CHANGE_CIPHER_SPEC &&
    bytes.readUInt16BE(offset + 3) === 1
  )
    offset += recordBytes;
  // An incomplete record is skipped as well: it is read again once all of it has arrived.
  return bytes[offset] === CHANGE_CIPHER_SPEC && bytes.length < offset + recordBytes ? bytes.length : offset;
}

/** Reads the server name from a ClientHello, which may span several records. */
export function readServerName(bytes: Buffer): HelloSeen {
  const parts: Buffer[] = [];
  let gathered = 0;
  let helloEnd: number | undefined;
  for (let offset = 0; bytes.length >= offset + RECORD_HEADER_BYTES;) {
    const length = bytes.readUInt16BE(offset + 3);
    if (bytes[offset] !== HANDSHAKE || length === 0) return UNNAMED;
    const end = offset + RECORD_HEADER_BYTES + length;
    if (bytes.length < end) return INCOMPLETE;
    parts.push(bytes.subarray(offset + RECORD_HEADER_BYTES, end));
    gathered += length;
    if (helloEnd === undefined && gathered >= HANDSHAKE_HEADER_BYTES) {
      const header = Buffer.concat(parts);
      if (header[0] !== CLIENT_HELLO) return UNNAMED;
      helloEnd = HANDSHAKE_HEADER_BYTES + header.readUIntBE(1, 3);
    }
    if (helloEnd !== undefined && gathered >= helloEnd)
      // Further bytes in the same record would be another message.
      return gathered > helloEnd ? UNNAMED : nameIn(Buffer.concat(parts).subarray(HANDSHAKE_HEADER_BYTES), end);
    offset = end;
  }
  return INCOMPLETE;
}

function nameIn(hello: Buffer, endsAt: number): HelloSeen {
  try {
    const fields = new Fields(hello);
    fields.take(FIXED_BYTES);
    fields.vector(1);
    fields.vector(2);
    fields.vector(1);
    const extensions = fields.vector(2);
    if (!fields.ended) return UNNAMED;
    const names: string[] = [];
    while (!extensions.ended) {
      const type = extensions.number(2);
      const body = extensions.vector(2);
      if (type === ENCRYPTED_CLIENT_HELLO) return UNNAMED;
      if (type === SERVER_NAME) names.push(nameOf(body));
    }
    return names.length === 1 ? { type: "named", name: names[0] ?? "", endsAt } : UNNAMED;
  } catch (error) {
    if (error instanceof RangeError) return UNNAMED;
    throw error;
  }
}

function nameOf(body: Fields): string {
  const list = body.vector(2);
  if (list.number(1) !== HOST_NAME) throw new RangeError("a name of another kind");
  const name = list.vector(2);
  if (!list.ended || !body.ended) throw new RangeError("more than one name");
  return name.rest.toString("latin1");
}

/** Reads consecutive fields. Throws a `RangeError` if one is incomplete. */
class Fields {
  rest: Buffer;

  constructor(bytes: Buffer) {
    this.rest = bytes;
  }

  get ended(): boolean {
    return this.rest.length === 0;
  }

  take(bytes: number): Buffer {
    if (this.rest.length < bytes) throw new RangeError("cut short");
    const slice = this.rest.subarray(0, bytes);
    this.rest = this.rest.subarray(bytes);
    return slice;
  }

  number(bytes: number): number {
    return this.take(bytes).readUIntBE(0, bytes);
  }

  /** Takes a length of `lengthBytes` bytes, and then that many bytes. */
  vector(lengthBytes: number): Fields {
    return new Fields(this.take(this.number(lengthBytes)));
  }
}
