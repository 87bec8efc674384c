/*
 * What values at one place were like: their kinds, the names of their fields, and how often each was there. A shape has no
 * text, number or other value of theirs. Shapes are added to each other in any order: within the bounds the sum is the same.
 */
import { isLongInteger } from "../../base/index.ts";
import { isFieldName } from "./field-names.ts";

/** `digits` are texts of whole numbers that no double holds. */
export type Kind = "null" | "boolean" | "integer" | "number" | "digits" | "string" | "array" | "object";
export const KINDS: readonly Kind[] = ["boolean", "integer", "number", "digits", "string", "array", "object", "null"];

export interface Shape {
  /** Number of values. */
  readonly seen: number;
  /** How many of them were of each kind, of those that were looked at. */
  readonly kinds: ReadonlyMap<Kind, number>;
  /** Whether there were more than `MAX_KINDS` kinds. Nothing else is known then. */
  readonly isAny?: boolean;
  /** Of all items of the lists. */
  readonly items?: Shape | undefined;
  readonly fields?: ReadonlyMap<string, Shape> | undefined;
  /** Of all values whose names are data. */
  readonly others?: Shape | undefined;
  /** Whether the objects had so many names that all of them are data. */
  readonly isMap?: boolean;
}

/** Fields of a whole shape. */
export const MAX_FIELDS = 200;
/** Objects within each other, the outermost included. */
export const MAX_LEVELS = 4;
/** Kinds of the values at one place; whole numbers and others are one. */
const MAX_KINDS = 4;
/** Names of one object. With more of them, they are data. */
const MAX_NAMES = 64;
/** Lists directly within each other. */
const MAX_LISTS = 4;

export const NOTHING: Shape = { seen: 0, kinds: new Map() };

/** The shape of all values of two shapes. */
export function addShapes(a: Shape, b: Shape): Shape {
  if (a.seen === 0) return b;
  if (b.seen === 0) return a;
  return within(join(a, b) as Shape);
}

/** Parts of a value that are looked at, and of each long list. */
const PARTS = 10_000;
const ITEMS = 200;
const GOLDEN = 0.618;
/** Names of one object that are looked at. */
const NAMES = 1000;

interface Looking {
  /** How many more are looked at. */
  parts: number;
  readonly cut: Pick<ReadonlyMap<object, unknown>, "has"> | undefined;
}

interface Depth {
  readonly levels: number;
  readonly lists: number;
}

/** The shape of one value, as JSON gives it. `cut` has the parts of it that were not read whole. Takes a time that grows with the value, up to a bound: of long lists some items are looked at. */
export function shapeOf(value: unknown, cut?: Looking["cut"]): Shape {
  return within(shapeAt(value, { parts: PARTS, cut }, { levels: 0, lists: 0 }) ?? NOTHING);
}

/** Undefined for a value that is not looked at. */
function shapeAt(value: unknown, looking: Looking, depth: Depth): Shape | undefined {
  const isObject = typeof value === "object" && value !== null;
  if (looking.parts <= 0 || (isObject && looking.cut?.has(value) && !Array.isArray(value))) return undefined;
  looking.parts -= 1;
  const own = { seen: 1, kinds: new Map([[kindOf(value), 1]]) };
  if (Array.isArray(value))
    return { ...own, items: depth.lists < MAX_LISTS ? itemsOf(value, looking, depth) : undefined };
  return isObject && depth.levels < MAX_LEVELS ? { ...own, ...fieldsOf(value, looking, depth) } : own;
}

function kindOf(value: unknown): Kind {
  switch (typeof value) {
    case "string":
      return isLongInteger(value) ? "digits" : "string";
    case "boolean":
      return "boolean";
    case "number":
      return Number.isInteger(value) ? "integer" : "number";
    case "object":
      return value === null ? "null" : Array.isArray(value) ? "array" : "object";
    default:
      return "null";
  }
}

function itemsOf(list: readonly unknown[], looking: Looking, depth: Depth): Shape | undefined {
  const inner = { ...depth, lists: depth.lists + 1 };
  const step = Math.max(1, list.length / ITEMS);
  let items: Shape | undefined;
  // Each of its own part of the list, at changing places: at equal steps, all items may be of one kind of several.
  for (let part = 0; part * step < list.length; part += 1) {
    const place = Math.floor(Math.min((part + ((part * GOLDEN) % 1)) * step, list.length - 1));
    items = join(items, shapeAt(list[place], looking, inner));
  }
  return items;
}

function fieldsOf(object: object, looking: Looking, depth: Depth): Pick<Shape, "fields" | "others" | "isMap"> {
  const inner = { ...depth, levels: depth.levels + 1, lists: 0 };
  const fields = new Map<string, Shape>();
  let others: Shape | undefined;
  const entries = Object.entries(object);
  for (const [name, value] of entries.slice(0, NAMES)) {
    // A value that is not looked at is there all the same.
    const part = shapeAt(value, looking, inner) ?? { seen: 1, kinds: new Map() };
    if (isFieldName(name)) fields.set(name, part);
    else others = join(others, part);
  }
  return mapped(fields, others, entries.length > NAMES);
}

/** The names of an object, or what they stand for where they are so many that all of them are data. */
function mapped(
  fields: Shape["fields"],
  others: Shape["others"],
  isMap: boolean,
): Pick<Shape, "fields" | "others" | "isMap"> {
  if (!isMap && (fields?.size ?? 0) <= MAX_NAMES) return { fields, others };
  return { fields: undefined, others: [...(fields?.values() ?? [])].reduce(join, others), isMap: true };
}

function join(a: Shape | undefined, b: Shape | undefined): Shape | undefined {
  if (!a || !b) return a ?? b;
  const seen = a.seen + b.seen;
  const kinds = sums(a.kinds, b.kinds);
  const number = kinds.size - (kinds.has("integer") && kinds.has("number") ? 1 : 0);
  if (a.isAny || b.isAny || number > MAX_KINDS) return { seen, kinds: new Map(), isAny: true };
  return {
    seen,
    kinds,
    items: join(a.items, b.items),
    ...mapped(joinFields(a.fields, b.fields), join(a.others, b.others), (a.isMap ?? false) || (b.isMap ?? false)),
  };
}

function joinFields(a: Shape["fields"], b: Shape["fields"]): Shape["fields"] {
  if (!a || !b) return a ?? b;
  const fields = new Map(a);
  for (const [name, shape] of b) fields.set(name, join(fields.get(name), shape) as Shape);
  return fields;
}

function sums(a: Shape["kinds"], b: Shape["kinds"]): Shape["kinds"] {
  const kinds = new Map(a);
  for (const [kind, count] of b) kinds.set(kind, (kinds.get(kind) ?? 0) + count);
  return kinds;
}

/** The shape with as many levels as have no more than `MAX_FIELDS` fields together. */
function within(shape: Shape): Shape {
  let levels = MAX_LEVELS;
  let kept = shape;
  while (levels > 0 && fieldsIn(kept) > MAX_FIELDS) {
    levels -= 1;
    kept = upTo(kept, levels);
  }
  return kept;
}

function partsIn({ items, fields, others }: Shape): readonly Shape[] {
  return [items, others, ...(fields?.values() ?? [])].filter((part) => part !== undefined);
}

export function fieldsIn(shape: Shape): number {
  return partsIn(shape).reduce((count, part) => count + fieldsIn(part), shape.fields?.size ?? 0);
}

export function hasDigits(shape: Shape): boolean {
  return shape.kinds.has("digits") || partsIn(shape).some(hasDigits);
}

function upTo(shape: Shape, levels: number): Shape {
  const { seen, kinds, isMap, isAny, ...inner } = shape;
  const items = inner.items && upTo(inner.items, levels);
  if (levels === 0) return { seen, kinds, isAny, items };
  const fields = inner.fields && new Map([...inner.fields].map(([name, of]) => [name, upTo(of, levels - 1)]));
  return { seen, kinds, isMap, isAny, items, fields, others: inner.others && upTo(inner.others, levels - 1) };
}

export function namesIn(shape: Shape): readonly string[] {
  return [...(shape.fields?.keys() ?? []), ...partsIn(shape).flatMap(namesIn)];
}

/** The shape with these names taken for data. */
export function withoutNames(shape: Shape, hidden: ReadonlySet<string>): Shape {
  if (hidden.size === 0) return shape;
  const { fields, items, others } = shape;
  const all = [...(fields ?? [])].map(([name, of]) => [name, withoutNames(of, hidden)] as const);
  const data = all.filter(([name]) => hidden.has(name)).map(([, of]) => of);
  const inside = (part: Shape | undefined) => part && withoutNames(part, hidden);
  return {
    ...shape,
    items: inside(items),
    fields: fields && new Map(all.filter(([name]) => !hidden.has(name))),
    others: data.reduce<Shape | undefined>((sum, of) => (sum ? addShapes(sum, of) : of), inside(others)),
  };
}
