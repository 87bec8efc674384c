/* The text by which a shape is kept. What is read may come from elsewhere, and is held to the same bounds. */
import { isFields } from "../../values/fields.ts";
import { isFieldName } from "./field-names.ts";
import { fieldsIn, type Kind, KINDS, MAX_FIELDS, type Shape } from "./shape.ts";

/** Version of the form, so that another version of this package leaves it alone. */
const FORM = 1;
/** Characters of a shape's text that are read. */
const TEXT_LENGTH = 256 * 1024;
const DEPTH = 64;

export function textOfShape(shape: Shape): string {
  return JSON.stringify({ form: FORM, shape: plain(shape) });
}

/** Undefined for a text that is no shape of this form. */
export function readShape(text: string): Shape | undefined {
  if (text.length > TEXT_LENGTH) return undefined;
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isFields(read) || read.form !== FORM) return undefined;
  const shape = shapeFrom(read.shape, 0);
  return shape && fieldsIn(shape) <= MAX_FIELDS ? shape : undefined;
}

function plain({ seen, kinds, fields, items, others, json, isAny, isOpen, isMap }: Shape): object {
  return {
    seen,
    kinds: Object.fromEntries(kinds),
    ...(isAny && { isAny }),
    ...(isOpen && { isOpen }),
    ...(isMap && { isMap }),
    ...(items && { items: plain(items) }),
    ...(fields && { fields: Object.fromEntries([...fields].map(([name, of]) => [name, plain(of)])) }),
    ...(others && { others: plain(others) }),
    ...(json && { json: plain(json) }),
  };
}

function shapeFrom(from: unknown, depth: number): Shape | undefined {
  if (!isFields(from) || depth > DEPTH || !isCount(from.seen) || !isFields(from.kinds)) return undefined;
  const kinds = Object.entries(from.kinds);
  if (!kinds.every((one): one is [Kind, number] => KINDS.includes(one[0] as Kind) && isCount(one[1]))) return undefined;
  const parts: { items?: Shape; others?: Shape; json?: Shape } = {};
  for (const part of ["items", "others", "json"] as const) {
    if (from[part] === undefined) continue;
    const shape = shapeFrom(from[part], depth + 1);
    if (!shape) return undefined;
    parts[part] = shape;
  }
  const fields = from.fields === undefined ? undefined : fieldsFrom(from.fields, depth);
  if (from.fields !== undefined && !fields) return undefined;
  const flags = (["isAny", "isOpen", "isMap"] as const).filter((flag) => from[flag] === true);
  return {
    seen: from.seen,
    kinds: new Map(kinds),
    ...parts,
    ...(fields && { fields }),
    ...Object.fromEntries(flags.map((flag) => [flag, true])),
  };
}

function fieldsFrom(from: unknown, depth: number): ReadonlyMap<string, Shape> | undefined {
  if (!isFields(from)) return undefined;
  const fields = new Map<string, Shape>();
  for (const [name, of] of Object.entries(from)) {
    const shape = shapeFrom(of, depth + 1);
    if (!shape || !isFieldName(name)) return undefined;
    fields.set(name, shape);
  }
  return fields;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
