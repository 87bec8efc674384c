/*
 * Reads untrusted JSON values, of a provider or a document: own properties only. Undefined or empty if a value has another type.
 */
import type { z } from "zod";

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is an object or a list, and no function. */
export function isAnyObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Puts entries in the order of their names. */
export function byName([one]: readonly [string, unknown], [other]: readonly [string, unknown]): -1 | 1 {
  return one < other ? -1 : 1;
}

export function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

export function fieldOf(value: unknown, name: string): unknown {
  return isFields(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function textOf(value: unknown, name: string): string | undefined {
  const field = fieldOf(value, name);
  return typeof field === "string" ? field : undefined;
}

export function listOf(value: unknown, name: string): readonly unknown[] {
  const field = fieldOf(value, name);
  return Array.isArray(field) ? field : [];
}

/** A counter; 0 if it is missing or no whole number from 0. */
export function countOf(value: unknown, name: string): number {
  const field = fieldOf(value, name);
  return Number.isSafeInteger(field) && (field as number) >= 0 ? (field as number) : 0;
}

export function without(fields: Fields, ...names: readonly string[]): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** The type of the values that a schema describes, read-only in all depths. */
export type SchemaType<Schema extends z.ZodType> = ReadOnly<z.output<Schema>>;

type ReadOnly<Value> = Value extends readonly (infer Entry)[]
  ? readonly ReadOnly<Entry>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: ReadOnly<Value[Name]> }
    : Value;
