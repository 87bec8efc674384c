import { fieldOf, isFields, textOf } from "../values/fields.ts";
import { readPlainData } from "../values/plain-data.ts";
import type { FaultView, OutcomeView } from "./view.ts";

/** Reads the text of an outcome, which may come from elsewhere. */
export function outcomeView(outcome: string): OutcomeView {
  const read = readPlainData(outcome);
  const ending = read.ok ? read.value : undefined;
  const type = textOf(ending, "type") ?? "unreadable";
  const limit = textOf(ending, "limit");
  const fault = faultView(type, ending);
  return { type, ...(fault ? { fault } : {}), ...(limit === undefined ? {} : { limit }) };
}

function faultView(type: string, ending: unknown): FaultView | undefined {
  const fault = fieldOf(ending, "fault") ?? fieldOf(ending, "failure");
  if (!isFields(fault)) return undefined;
  const message = textOf(fault, "message") ?? "";
  const name = textOf(fault, "name") ?? type;
  return { name, message, ...texts(fault, "code", "tool"), ...counts(fault, "line", "column") };
}

function texts<Name extends string>(fields: object, ...names: readonly Name[]): { readonly [Each in Name]?: string } {
  return picked(fields, names, (value): value is string => typeof value === "string");
}

function counts<Name extends string>(fields: object, ...names: readonly Name[]): { readonly [Each in Name]?: number } {
  return picked(fields, names, (value): value is number => Number.isSafeInteger(value) && (value as number) > 0);
}

function picked<Name extends string, Value>(
  fields: object,
  names: readonly Name[],
  is: (value: unknown) => value is Value,
): { readonly [Each in Name]?: Value } {
  const found = names.map((name) => [name, fieldOf(fields, name)] as const).filter(([, value]) => is(value));
  return Object.fromEntries(found) as { readonly [Each in Name]?: Value };
}
