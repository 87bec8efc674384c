import { isDeepStrictEqual } from "node:util";
import { isFields } from "../fields.ts";
import { stringifyUnusual } from "./json-form.ts";

/** Stands for what has no JSON form: no text, number or list that a rule could take for a harmless one. */
const withoutForm = (thing: string) => ({ "(not JSON)": thing });

/** JSON text of a value that a schema has made, as people and rules are shown it. Never throws. */
export function shownJson(value: unknown): string {
  try {
    return stringifyUnusual(value, Number.POSITIVE_INFINITY, withoutForm) ?? "null";
  } catch {
    // It contains itself, or its own code throws.
    return JSON.stringify(withoutForm("a value that cannot be read"));
  }
}

/** Whether a JSON text says the same as a value, whatever the order of fields. */
export function isSameData(json: string, value: unknown): boolean {
  return isDeepStrictEqual(JSON.parse(json), value);
}

/**
 * A value that was shown as this JSON, as its schema has made another one of the same input: a date where that has a date.
 * Undefined if it cannot be told what the shown text stands for.
 */
export function likeShown(made: unknown, shown: unknown): { readonly value: unknown } | undefined {
  if (isSameData(shownJson(made), made)) return { value: shown };
  if (made instanceof Date && typeof shown === "string") {
    const value = new Date(shown);
    return value.toJSON() === shown ? { value } : undefined;
  }
  const isRecord = isFields(made) && isFields(shown) && Object.getPrototypeOf(made) === Object.prototype;
  if (!isRecord && !(Array.isArray(made) && Array.isArray(shown)))
    return isSameData(shownJson(made), shown) ? { value: made } : undefined;
  const names = Object.keys(made).filter((name) => fieldOf(made, name) !== undefined);
  if (names.length !== Object.keys(shown).length || !names.every((name) => Object.hasOwn(shown, name)))
    return undefined;
  const fields: [string, unknown][] = [];
  for (const name of names) {
    const field = likeShown(fieldOf(made, name), fieldOf(shown, name));
    if (!field) return undefined;
    fields.push([name, field.value]);
  }
  return { value: Array.isArray(made) ? fields.map(([, field]) => field) : Object.fromEntries(fields) };
}

function fieldOf(container: object, name: string): unknown {
  return container[name as keyof typeof container];
}
