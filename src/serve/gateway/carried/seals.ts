import { createHmac, createSecretKey, hash, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import type { Key } from "../../http/keys.ts";

/** What the ids of executions of the gateway begin with. */
const PREFIX = "gateway-";

const UUID_BYTES = 16;
const MAC_BYTES = 12;
const SECRET_BYTES = 32;
/** As many as a number holds. */
const MARK_BYTES = 6;

/** What an id that a client carries stands for. */
export type SealKind = "call" | "program" | "reply" | "state" | "text" | "reasoning";

export interface SealedIds {
  readonly execution: string;
  /** The turn, the call in the turn, the call of its program. */
  readonly numbers: readonly number[];
}

type KeyIds = Pick<Key, "id" | "tenant">;

/** The first secret seals. The others are former ones, whose seals still hold. */
export type Secrets = readonly [KeyObject, ...KeyObject[]];

/** Keys made once: to make a key of bytes takes five times as long as a seal. */
export function secretKeys(secrets: readonly string[] = []): Secrets {
  const [first = randomBytes(SECRET_BYTES), ...others] = secrets.map((secret) => Buffer.from(secret));
  return [createSecretKey(first), ...others.map((secret) => createSecretKey(secret))];
}

/** An id, authenticated for the tenant and the id of the key, so that it can neither be forged nor be used with another key. */
export function seal(secret: KeyObject, key: KeyIds, kind: SealKind, { execution, numbers }: SealedIds): string {
  const uuid = Buffer.from(execution.slice(PREFIX.length), "hex");
  const payload = Buffer.concat([uuid, Buffer.from(JSON.stringify(numbers))]);
  return Buffer.concat([payload, macOf(secret, key, kind, payload)]).toString("base64url");
}

/** A number by which a text is known again. Without the secret nobody finds the text by it, however short. */
export function markOf(secret: KeyObject, key: KeyIds, text: string): number {
  return macOf(secret, key, "mark", hash("sha256", text, "buffer")).readUIntBE(0, MARK_BYTES);
}

/** What an id stands for, with the secret that sealed it. Undefined for one that is not sealed by any, or belongs to another key. */
export function openSeal(secrets: Secrets, key: KeyIds, kind: SealKind, id: string) {
  const bytes = bytesOf(id);
  if (!bytes) return undefined;
  const payload = bytes.subarray(0, -MAC_BYTES);
  const mac = bytes.subarray(-MAC_BYTES);
  const by = secrets.find((secret) => timingSafeEqual(macOf(secret, key, kind, payload), mac));
  if (!by) return undefined;
  const numbers = JSON.parse(payload.toString("latin1", UUID_BYTES)) as SealedIds["numbers"];
  return { sealed: { execution: executionOf(payload.subarray(0, UUID_BYTES)), numbers }, by };
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

function macOf(secret: KeyObject, { tenant, id }: KeyIds, kind: SealKind | "mark", payload: Buffer): Buffer {
  const about = JSON.stringify([1, kind, tenant, id, payload.toString("hex")]);
  return createHmac("sha256", secret).update(about).digest().subarray(0, MAC_BYTES);
}
