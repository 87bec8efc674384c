import type { KeptShape } from "../journal.ts";

/** Maximum size of a stored shape, in bytes. A larger one is not read. */
export const MAX_SHAPE_BYTES = 256 * 1024;

/** A row of shapes; nothing if it is none, because what is stored may come from elsewhere. */
export function keptShape({ name, digest, shape }: Readonly<Record<string, unknown>>): readonly KeptShape[] {
  const isRow = typeof name === "string" && typeof digest === "string" && typeof shape === "string" && shape !== "";
  return isRow ? [{ name, digest, shape }] : [];
}
