import type { Artifact } from "../../journal/artifact-space.ts";
import type { Redactor } from "../../journal/redaction/redactor.ts";
import { isFields, type Lane, readHead, sumOf } from "../../base/index.ts";
import { entryCount, cut, shapeText } from "./value-shape.ts";

/** Characters of a value from which its shape and beginning are read, and lengths at which these are cut; least of a field. */
const HEAD_LENGTH = 2048;
const SHAPE_LENGTH = 800;
const [FIRST_LENGTH, FIELD_LENGTH] = [200, 10];

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
  const shape = cut(shapeText(value, counts, SHAPE_LENGTH), SHAPE_LENGTH);
  const rows = Array.isArray(value) ? ` /* ${entryCount(value, counts)} */` : "";
  const first = Array.isArray(value) ? value[0] : value;
  return { shape: shape + rows, first: cut(beginningOf(first), FIRST_LENGTH) };
}

/** The JSON of a value. Of a long object with few fields, each has its share, so that a long one does not hide the others. */
function beginningOf(value: unknown): string {
  const whole = JSON.stringify(value) ?? "";
  if (whole.length <= FIRST_LENGTH || !isFields(value)) return whole;
  const fields = Object.entries(value).map(([name, field]) => [JSON.stringify(name), JSON.stringify(field)] as const);
  const names = 2 + sumOf(fields, ([name]) => name.length + 2);
  const share = Math.floor((FIRST_LENGTH - names) / fields.length);
  return share < FIELD_LENGTH ? whole : `{${fields.map(([name, field]) => `${name}:${cut(field, share)}`).join(",")}}`;
}
