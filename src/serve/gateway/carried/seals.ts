import { createHmac, createSecretKey, hash, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { Key } from "../../http/keys.ts";

/** What the ids of executions of the gateway begin with. */
const PREFIX = "gateway-";

const UUID_BYTES = 16;
const MAC_BYTES = 12;
const SECRET_BYTES = 32;
/** As many as a number holds. */
const MARK_BYTES = 6;
/** Numbers after the execution: the turn, the call in the turn, the call of its program. */
const MAX_NUMBERS = 3;

/** What an id that a client carries stands for. */
export type SealKind = "call" | "program" | "reply" | "state" | "text" | "reasoning";

export interface Sealed {
  readonly execution: string;
  readonly numbers: readonly number[];
}

/**
 * Ids that clients carry: each names an execution, and what it means in it. They are authenticated for the tenant and the
 * id of the key, so that they can neither be forged nor be used with another key.
 */
export class Seals {
  readonly #secrets: readonly KeyObject[];

  /** The first secret seals. The others are former ones, whose seals still hold. */
  constructor(secrets: readonly Buffer[]) {
    // Made once: to make a key of bytes takes five times as long as a seal.
    this.#secrets = secrets.map((secret) => createSecretKey(secret));
  }

  /** `by`: the place of the secret, the current one by default. */
  seal(key: Pick<Key, "id" | "tenant">, kind: SealKind, { execution, numbers }: Sealed, by = 0): string {
    const payload = Buffer.concat([uuidBytes(execution), ...numbers.map(varint)]);
    const secret = this.#secrets[by];
    if (!secret) throw new Error("Seals need a secret.");
    return Buffer.concat([payload, macOf(secret, key, kind, payload)]).toString("base64url");
  }

  /** A number by which a text is known again. Without the secret nobody finds the text by it, however short. */
  mark(key: Pick<Key, "id" | "tenant">, text: string, by = 0): number {
    const secret = this.#secrets[by];
    if (!secret) throw new Error("Marks need a secret.");
    return macOf(secret, key, "mark", hash("sha256", text, "buffer")).readUIntBE(0, MARK_BYTES);
  }

  /** Undefined for an id that this server has not sealed, or that belongs to another key. */
  open(key: Pick<Key, "id" | "tenant">, kind: SealKind, id: string): (Sealed & { readonly by: number }) | undefined {
    const bytes = bytesOf(id);
    if (!bytes) return undefined;
    const payload = bytes.subarray(0, -MAC_BYTES);
    const mac = bytes.subarray(-MAC_BYTES);
    const by = this.#secrets.findIndex((secret) => timingSafeEqual(macOf(secret, key, kind, payload), mac));
    if (by < 0) return undefined;
    const numbers = readVarints(payload.subarray(UUID_BYTES));
    return numbers && { execution: executionOf(payload.subarray(0, UUID_BYTES)), numbers, by };
  }
}

/** Undefined for a text that is no sealed id. */
function bytesOf(id: string): Buffer | undefined {
  if (id.length > 128 || !/^[A-Za-z0-9_-]+$/.test(id)) return undefined;
  const bytes = Buffer.from(id, "base64url");
  return bytes.toString("base64url") === id && bytes.length >= UUID_BYTES + MAC_BYTES ? bytes : undefined;
}

/** The execution that an id names, whoever has made the id. */
export function executionNamed(id: string): string | undefined {
  const bytes = bytesOf(id);
  return bytes && executionOf(bytes.subarray(0, UUID_BYTES));
}

export function newSecret(): Buffer {
  return randomBytes(SECRET_BYTES);
}

/** The bit of an id by which a conversation is known whose answers are stored. */
const STORED_BIT = 1;

/** A new id of an execution that the gateway begins. */
export function newExecution(isStored: boolean): string {
  const bytes = randomBytes(UUID_BYTES);
  const last = bytes.readUInt8(UUID_BYTES - 1);
  bytes.writeUInt8(isStored ? last | STORED_BIT : last & ~STORED_BIT, UUID_BYTES - 1);
  return executionOf(bytes);
}

/** Whether the client of an execution of the gateway has asked for its answers to be stored. */
export function isStoredExecution(execution: string): boolean {
  return (Number.parseInt(execution.slice(-2), 16) & STORED_BIT) === STORED_BIT;
}

/** Whether the gateway has begun an execution: its client alone goes on with it. */
export function isOfGateway(execution: string): boolean {
  return /^gateway-[0-9a-f]{32}(?:$|\W)/.test(execution);
}

function executionOf(bytes: Buffer): string {
  return PREFIX + bytes.toString("hex");
}

function uuidBytes(execution: string): Buffer {
  return Buffer.from(execution.slice(PREFIX.length), "hex");
}

function macOf(
  secret: KeyObject,
  { tenant, id }: Pick<Key, "id" | "tenant">,
  kind: SealKind | "mark",
  payload: Buffer,
): Buffer {
  const about = JSON.stringify([1, kind, tenant, id, payload.toString("hex")]);
  return createHmac("sha256", secret).update(about).digest().subarray(0, MAC_BYTES);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  while (left >= 128) {
    bytes.push((left % 128) + 128);
    left = Math.floor(left / 128);
  }
  return Buffer.from([...bytes, left]);
}

/** Undefined for bytes that are no numbers, or too many. */
function readVarints(bytes: Buffer): readonly number[] | undefined {
  const numbers: number[] = [];
  let value = 0;
  let place = 1;
  for (const byte of bytes) {
    value += (byte % 128) * place;
    place = byte < 128 ? 1 : place * 128;
    if (byte >= 128) continue;
    numbers.push(value);
    value = 0;
  }
  return place === 1 && numbers.length <= MAX_NUMBERS && numbers.every(Number.isSafeInteger) ? numbers : undefined;
}
