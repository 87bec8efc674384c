import { types } from "node:util";
import { integerOf } from "./exact-json.ts";

/** A value in a result that has no JSON form. `JSON.stringify` would leave it out, or empty it. */
class NoJsonForm extends Error {
  readonly thing: string;

  constructor(thing: string) {
    super(thing);
    this.thing = thing;
  }
}

const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([][Symbol.iterator]())) as object;

function isIterator(value: object): value is IteratorObject<unknown> {
  return Object.prototype.isPrototypeOf.call(iteratorPrototype, value);
}

/** Whether `JSON.stringify` may lose what an object without a `toJSON` holds. A built-in class other than Array has a tag. */
export function isUnusual(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) return false;
  return (
    typeof (value as { [Symbol.toStringTag]?: unknown })[Symbol.toStringTag] === "string" ||
    types.isRegExp(value) ||
    isError(value) ||
    isBare(value, prototype as object)
  );
}

/** An object of a class that has no fields of its own: private ones are lost. Each realm has a root of its own. */
function isBare(value: object, prototype: object): boolean {
  const isOfClass =
    Object.getPrototypeOf(prototype) !== null && !Array.isArray(value) && !types.isBoxedPrimitive(value);
  return isOfClass && Object.keys(value).length === 0;
}

/** Of any realm: a test runner or `node:vm` has globals of its own. `instanceof` knows DOMException. */
function isError(value: object): boolean {
  return types.isNativeError(value) || value instanceof Error;
}

/**
 * What replaces an unusual object in JSON: an object or pairs for a Map, an array for a Set, a typed array or an
 * iterator, a text for URL parameters. Returns other objects as they are. Throws for an object of which JSON keeps
 * nothing, and for an iterator with more values than there is room for.
 */
export function jsonForm(value: object, room: IteratorRoom): unknown {
  if (types.isMap(value)) {
    const entries = [...value] as [unknown, unknown][];
    const isNamed = entries.every(([key]) => typeof key === "string" || typeof key === "number");
    // Two keys may be one field, like 1 and "1".
    return isNamed && new Set(entries.map(([key]) => String(key))).size === entries.length
      ? Object.fromEntries(entries as [PropertyKey, unknown][])
      : entries;
  }
  if (types.isSet(value)) return [...value];
  if (isNumbers(value)) return Array.from(value);
  if (value instanceof URLSearchParams) return value.toString();
  if (isIterator(value)) return readIterator(value, room);
  if (types.isPromise(value)) throw new NoJsonForm("a Promise, which the handler has to await");
  if (isError(value)) throw new NoJsonForm("an Error, which the handler has to throw");
  if (isUnusual(value) && Object.keys(value).length === 0)
    throw new NoJsonForm(`an object of the class ${classOf(value)}${Symbol.asyncIterator in value ? GIVES_ITEMS : ""}`);
  return value;
}

const GIVES_ITEMS = " (a tool with `stream: true` gives its items one by one)";

function classOf(value: object): string {
  const tag = Object.prototype.toString.call(value).slice("[object ".length, -1);
  const { constructor } = value as { readonly constructor?: { readonly name?: unknown } };
  return (tag === "Object" && typeof constructor?.name === "string" ? constructor.name : tag).slice(0, 64);
}

/** A typed array. Its elements are read where they are, because a list of them takes eight times the memory of bytes. */
export function isNumbers(value: unknown): value is ArrayLike<unknown> {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** Values of iterators that are read at once, while nothing else has the thread. */
const ITERATED = 256 * 1024;

/** The values that all iterators of what becomes text at once may have together. */
export interface IteratorRoom {
  readonly most: number;
  budget: number;
}

export function iteratorRoom(maxItems: number): IteratorRoom {
  const most = Math.min(maxItems, ITERATED);
  return { most, budget: most };
}

/** Leaving the loop closes an iterator with too many values, so that the handler frees what it holds for the iterator. */
function readIterator(iterator: IteratorObject<unknown>, room: IteratorRoom): unknown[] {
  const items: unknown[] = [];
  for (const item of iterator) {
    if (room.budget === 0) throw new NoJsonForm(`an iterator, with which iterators have more than ${room.most} values`);
    room.budget -= 1;
    items.push(item);
  }
  return items;
}

/**
 * JSON text of a value that may hold unusual objects; undefined for undefined. What has no JSON form is replaced by what
 * `instead` makes of its name. Throws for it without that.
 */
export function stringifyUnusual(
  root: unknown,
  maxItems: number,
  instead?: (thing: string) => unknown,
): string | undefined {
  const room = iteratorRoom(maxItems);
  const places: { readonly holder: unknown; readonly key: string }[] = [];
  return JSON.stringify(root, function replace(this: unknown, key, value: unknown) {
    while (places.length > 0 && places.at(-1)?.holder !== this) places.pop();
    try {
      // JSON.stringify has asked for the `toJSON` of a date and of a Buffer already.
      const asked = (this as Record<string, unknown>)[key];
      if (value === null && types.isDate(asked)) throw new NoJsonForm("an invalid date");
      const form = formOf(isNumbers(asked) ? asked : value, room);
      if (typeof form === "object" && form !== null) places.push({ holder: form, key });
      return form;
    } catch (error) {
      if (!(error instanceof NoJsonForm)) throw error;
      if (instead) return instead(error.thing);
      const path = [...places.map((place) => place.key), key].filter((part) => part !== "").join(".");
      const refused = new TypeError(
        `The result holds ${error.thing}${path === "" ? "" : ` at ${path.slice(0, 200)}`}.`,
      );
      // It would lead through this package alone: the sentence says where in the result it is.
      delete refused.stack;
      throw refused;
    }
  });
}

function formOf(value: unknown, room: IteratorRoom): unknown {
  if (typeof value === "bigint") return integerOf(String(value));
  if (typeof value === "function" || typeof value === "symbol") throw new NoJsonForm(`a ${typeof value}`);
  if (typeof value === "number" && !Number.isFinite(value)) throw new NoJsonForm(String(value));
  return typeof value === "object" && value !== null ? jsonForm(value, room) : value;
}
