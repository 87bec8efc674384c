import { hash } from "node:crypto";
import { HASHED_LENGTH } from "./json-scanner.ts";

/** Whether `quickKey` hashes a value, which takes time with its length. */
export const isLongKey = (value: unknown): value is string => typeof value === "string" && value.length > HASHED_LENGTH;

/**
 * Stands for a value of others in a map or a set, where keys that have one hash are compared with each other: numbers, and texts
 * that are indexes, have hashes that anybody can compute, and long texts have that of their length.
 */
export function quickKey(value: unknown): unknown {
  if (typeof value === "number") return `#${value}`;
  if (typeof value !== "string") return value;
  return `"${isLongKey(value) ? hash("sha256", value) : value}`;
}
