import type { Artifact } from "../../journal/artifact-space.ts";
import type { Redactor } from "../../journal/redaction/redactor.ts";
import { type Lane, readHead } from "../../base/index.ts";
import { entryCount, cut, shapeOf } from "./value-shape.ts";

/** Characters of a value from which its shape and beginning are read, and lengths at which these are cut. */
const HEAD_LENGTH = 2048;
const SHAPE_LENGTH = 800;
const FIRST_LENGTH = 200;

export type ValueDescription = Pick<Artifact, "shape" | "first">;

/** The shape and the beginning of a value, given as JSON text. Both hold foreign text. */
export async function describeValue(
  text: string,
  lane: Lane,
  redactor: Redactor | undefined,
): Promise<ValueDescription> {
  // Before it is shortened: a part of what must not leave would not be found.
  const shown = redactor ? (await redactor.json(text, { to: "model" })).text : text;
  const head = await readHead(shown, HEAD_LENGTH, lane);
  if (!head) return { shape: "unknown", first: "" };
  const { value, counts } = head;
  const shape = cut(shapeOf(value, counts, SHAPE_LENGTH), SHAPE_LENGTH);
  const rows = Array.isArray(value) ? ` /* ${entryCount(value, counts)} */` : "";
  const first = Array.isArray(value) ? value[0] : value;
  return { shape: shape + rows, first: cut(JSON.stringify(first) ?? "", FIRST_LENGTH) };
}
