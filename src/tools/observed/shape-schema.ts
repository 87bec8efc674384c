import { byName, isFields } from "../../base/index.ts";
import { type JsonSchema, resolveReference, takesText, takesNumbersAlone } from "../json-schema/json-schema.ts";
import { withoutNumber } from "./field-names.ts";
import { addShapes, hasDigits, type Kind, KINDS, type Shape } from "./shape.ts";

const DIGITS = "integer as text";
/** Parts of a declared schema that are written again, or are copied: many references may lead to one part, also in circles. */
const PARTS = 2000;

/** A declared schema that says where texts of digits were seen in place of numbers. */
export function withDigits(root: JsonSchema, shape: Shape): JsonSchema {
  let budget = PARTS;
  const write = (part: unknown, seen: Shape | undefined): unknown => {
    if (!isFields(part) || !seen || !hasDigits(seen) || (budget -= 1 + countIn(part)) < 0) return part;
    const { $ref, type, description, properties, items, additionalProperties: others } = part;
    if (typeof $ref === "string") return write(resolveReference(root, $ref), seen);
    const fieldOf = ([name, one]: [string, unknown]) => [name, write(one, seen.fields?.get(name) ?? seen.others)];
    const joined = ["anyOf", "oneOf", "allOf"].flatMap((word) => {
      const all = part[word];
      return Array.isArray(all) ? [[word, all.map((one) => write(one, seen))]] : [];
    });
    return {
      ...part,
      ...(Object.fromEntries(joined) as JsonSchema),
      ...(seen.kinds.has("digits") &&
        !takesText(part) && { description: typeof description === "string" ? `${DIGITS}; ${description}` : DIGITS }),
      ...(seen.kinds.has("digits") && takesNumbersAlone(part) && { type: [type, "string"].flat() }),
      ...(isFields(properties) && { properties: Object.fromEntries(Object.entries(properties).map(fieldOf)) }),
      ...(items !== undefined && { items: write(items, seen.items) }),
      ...(others !== undefined && { additionalProperties: write(others, seen.others) }),
    };
  };
  return write(root, shape) as JsonSchema;
}

/** Parts that are copied with one. */
function countIn(part: JsonSchema): number {
  const holders = [part.properties, part["anyOf"], part["oneOf"], part["allOf"]];
  return holders.reduce<number>((count, holder) => count + Object.keys(holder ?? {}).length, 0);
}

/** What values were like, as a JSON Schema that each of them fits. Names that proved to be data are in none. */
export function schemaOfShape(shape: Shape): JsonSchema {
  const { kinds } = shape;
  const areDigits = kinds.has("digits") && !kinds.has("string");
  const kindList = KINDS.filter((kind) => kinds.has(kind) && !(kind === "integer" && kinds.has("number")));
  const types = [...new Set(kindList.map((kind) => (kind === "digits" ? "string" : kind)))];
  const [type, ...more] = types;
  if (type === undefined) return {};
  return {
    type: more.length === 0 ? type : types,
    ...(areDigits && { description: DIGITS }),
    ...(kinds.has("array") && shape.items && { items: schemaOfShape(shape.items) }),
    ...(kinds.has("object") && objectSchema(shape)),
  };
}

function objectSchema(shape: Shape): JsonSchema {
  const objects = shape.kinds.get("object") ?? 0;
  const { fields, others } = dividedNames(shape, objects);
  if (fields.length === 0) return others ? { additionalProperties: schemaOfShape(others) } : {};
  const required = fields.filter(([, { seen }]) => seen >= objects).map(([name]) => name);
  return {
    properties: Object.fromEntries(fields.map(([name, of]) => [name, schemaOfShape(of)])),
    ...(required.length > 0 && { required }),
    ...(others && { additionalProperties: schemaOfShape(others) }),
  };
}

type Named = readonly [name: string, shape: Shape];

/** The names of fields, and the shape of the values under names that are data by what else is known of them. */
function dividedNames(
  shape: Shape,
  objects: number,
): { readonly fields: readonly Named[]; readonly others: Shape | undefined } {
  const all = [...(shape.fields ?? [])].toSorted(byName);
  const isData = dataAmong(all, shape.others, objects);
  const data = all.filter(isData).map(([, of]) => of);
  const others = data.reduce<Shape | undefined>((sum, of) => (sum ? addShapes(sum, of) : of), shape.others);
  return { fields: all.filter((one) => !isData(one)), others };
}

/** Names that are alike, from this number on, are data. */
const ALIKE = 3;

/**
 * Names that look like names of fields are data too where they stand for objects that are all alike (`{ ann: { age },
 * bob: { age }, eve: { age } }`), where none of them was always there and their values are alike, where they differ by a
 * number, and where names that are surely data have values like theirs.
 */
function dataAmong(all: readonly Named[], others: Shape | undefined, objects: number): (one: Named) => boolean {
  const signatures = new Map(all.map(([name, of]) => [name, signatureOf(of)]));
  const of = ([name]: Named) => signatures.get(name) ?? "";
  const isAlways = ([, { seen }]: Named) => seen >= objects;
  const [first] = all;
  const areAlike = first !== undefined && all.every((one) => of(one) === of(first));
  const isChanging = objects > 1 && !all.some(isAlways);
  const isMap =
    areAlike && (isStructured(first[1]) ? all.length >= (isChanging ? 2 : ALIKE) : all.length >= ALIKE && isChanging);
  if (isMap) return () => true;
  const series = Map.groupBy(all, (one) => `${withoutNumber(one[0])} ${of(one)}`);
  const other = others && signatureOf(others);
  return (one) =>
    (series.get(`${withoutNumber(one[0])} ${of(one)}`)?.length ?? 0) >= ALIKE ||
    (of(one) === other && (!isAlways(one) || objects === 1));
}

function isStructured({ kinds, fields }: Shape): boolean {
  return kinds.size === 1 && kinds.has("object") && fields !== undefined && fields.size > 0;
}

/** What two shapes have in common that are alike: kinds and names of fields. */
function signatureOf(shape: Shape): string {
  return JSON.stringify(likenessOf(shape));
}

function likenessOf({ kinds, fields, items }: Shape): readonly unknown[] {
  const own = KINDS.filter((kind) => kinds.has(kind) && kind !== "null").map((kind: Kind) =>
    kind === "integer" || kind === "digits" ? "number" : kind,
  );
  return [[...new Set(own)], [...(fields?.keys() ?? [])].toSorted(), items ? likenessOf(items) : []];
}
