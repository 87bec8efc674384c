import { LIMIT_RULES } from "../../programs/limits.ts";

type Units = Readonly<Record<string, number>>;
const BYTES: Units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const TIMES: Units = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };
const NONE: Units = {};

/** A limit from the command line, like `memoryBytes=64MiB`; or a sentence that says what is wrong with it. The rules of the limits check names and ranges. */
export function parseLimit(text: string): { readonly name: string; readonly value: number } | string {
  const [, name, digits, unit = ""] =
    /^([A-Za-z]+)=(-?\d+(?:_\d+)*(?:\.\d+)?(?:e\+?\d+)?) ?([A-Za-z]*)$/.exec(text) ?? [];
  if (name === undefined || digits === undefined)
    return `Expected name=value, like memoryBytes=64MiB, got ${JSON.stringify(text)}.`;
  const units = unitsOf(name);
  const factor = unit === "" ? 1 : Object.hasOwn(units, unit) ? units[unit] : undefined;
  if (factor === undefined)
    return units === NONE
      ? `${name} is a number without a unit, got the unit ${JSON.stringify(unit)}.`
      : `There is no unit ${JSON.stringify(unit)} for ${name}: use ${Object.keys(units).join(", ")}, or none.`;
  // Rounds away the error of binary fractions: 1.001 s is 1001 ms.
  return { name, value: Number((Number(digits.replaceAll("_", "")) * factor).toPrecision(15)) };
}

function unitsOf(name: string): Units {
  if (name.endsWith("Bytes")) return BYTES;
  if (name.endsWith("Ms")) return TIMES;
  // Any unit is accepted for an unknown name, because the error to report is the name.
  return Object.hasOwn(LIMIT_RULES, name) ? NONE : { ...BYTES, ...TIMES };
}
