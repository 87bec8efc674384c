import { hash } from "node:crypto";
import { HASHED_LENGTH } from "./json-scanner.ts";

/**
 * Stands for a value of others in a map or a set, where keys that have one hash are compared with each other: numbers, and texts
 * that are indexes, have hashes that anybody can compute, and long texts have that of their length.
 */
export function quickKey(value: unknown): unknown {
  if (typeof value === "number") return `#${value}`;
  if (typeof value !== "string") return value;
  return `"${value.length > HASHED_LENGTH ? hash("sha256", value) : value}`;
}
