import { createHash } from "node:crypto";
import { lostData, measure, readPlainData, type SlicedWork } from "../../base/index.ts";

/** Parts of a text that are hashed between two checks whether the host's thread must be yielded. */
const PARTS_PER_SLICE = 512;

/**
 * SHA-256 in hex of the canonical form of a JSON text: the fields of each object in the order of their names, and no spaces.
 * Equal values have equal digests, however their texts were written. Undefined for a text that is no plain data, and
 * for one that says more than its value (`lostData`).
 */
export function* canonicalDigest(json: string, measured = measure(json)): SlicedWork<string | undefined> {
  const read = readPlainData(json, Infinity, measured);
  yield;
  // Of two numbers that one double stands for, neither is the other.
  return read.ok && !lostData(json, read.value, measured) ? yield* digestOf(read.value) : undefined;
}

function* digestOf(value: unknown): SlicedWork<string> {
  const hash = createHash("sha256");
  let text = "";
  let parts = 0;
  for (const part of canonicalParts(value)) {
    text += part;
    parts += 1;
    if (parts % PARTS_PER_SLICE > 0) continue;
    hash.update(text);
    text = "";
    yield;
  }
  return hash.update(text).digest("hex");
}

function* canonicalParts(value: unknown): Generator<string, void> {
  if (typeof value !== "object" || value === null) {
    yield JSON.stringify(value) ?? "null";
    return;
  }
  if (Array.isArray(value)) {
    yield "[";
    for (const [index, item] of (value as unknown[]).entries()) {
      if (index > 0) yield ",";
      yield* canonicalParts(item);
    }
    yield "]";
    return;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  yield "{";
  for (const [index, name] of Object.keys(fields).toSorted().entries()) {
    yield `${index > 0 ? "," : ""}${JSON.stringify(name)}:`;
    yield* canonicalParts(fields[name]);
  }
  yield "}";
}
