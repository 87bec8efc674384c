import { isFields } from "../../base/index.ts";

/** Rows of each list, names of each object and parts of a whole value that a shape is inferred from. */
const [ROWS_READ, NAMES_READ, PARTS_READ] = [20, 200, 20_000];
const [DEPTH_SHOWN, NAME_LENGTH] = [4, 40];

/** Full number of entries of each list and record that is cut. */
type Counts = ReadonlyMap<object, number>;

export function entryCount(container: object, counts: Counts): number {
  return counts.get(container) ?? Object.keys(container).length;
}

interface Printing {
  readonly counts: Counts;
  /** Levels at which the fields of objects are written. */
  readonly levels: number;
  readonly isBare?: boolean;
  parts: number;
}

/**
 * The TypeScript type of a value, inferred from its first rows, with the lengths of lists that are not within rows. A type
 * longer than `length` has parts within others as `object`, and at last names alone: a program would have to guess them.
 */
export function shapeText(value: unknown, counts: Counts, length: number): string {
  let least = 1;
  for (let row = value; Array.isArray(row); row = row[0] as unknown) least += 1;
  const typeIn = (levels: number, isBare = false) =>
    typesOf([value], { counts, levels, isBare, parts: PARTS_READ }, 0, false).join(" | ");
  for (let levels = Math.max(DEPTH_SHOWN, least); levels >= least; levels -= 1) {
    const text = typeIn(levels);
    if (text.length <= length) return text;
  }
  return typeIn(least, true);
}

function typesOf(values: readonly unknown[], printing: Printing, depth: number, inRow: boolean): string[] {
  printing.parts -= values.length;
  if (printing.parts < 0) return ["unknown"];
  const lists = values.filter((value) => Array.isArray(value)) as (readonly unknown[])[];
  const objects = values.filter((value) => isFields(value));
  const types = new Set(values.filter((value) => typeof value !== "object").map((value) => typeof value) as string[]);
  const [only] = lists;
  if (only) {
    const rows = lists.flatMap((list) => list.slice(0, ROWS_READ));
    const row = typesOf(rows, printing, depth + 1, true);
    const isCounted = lists.length === 1 && depth > 0 && !inRow;
    const counted = isCounted ? ` /* ${entryCount(only, printing.counts)} */` : "";
    types.add(`${row.length > 1 ? `(${row.join(" | ")})` : (row[0] ?? "unknown")}[]${counted}`);
  }
  if (objects.length > 0) types.add(depth < printing.levels ? objectType(objects, printing, depth, inRow) : "object");
  if (values.includes(null)) types.add("null");
  return [...types];
}

/** Names of at least so many fields may be data; of more fields they are, whatever they look like. */
const [DATA_LEAST, DATA_SURELY] = [4, 64];
/** Words as fields have them, and a short number at their end. */
const FIELD_NAME = /^[\p{L}_$][\p{L}_$ -]{0,200}\d{0,2}$/u;

function objectType(objects: readonly object[], printing: Printing, depth: number, inRow: boolean): string {
  const { counts, isBare } = printing;
  const entries = objects.flatMap((object) => Object.entries(object).slice(0, NAMES_READ) as [string, unknown][]);
  const fields = Map.groupBy(entries, ([name]) => name);
  const data = [...fields.keys()].filter((name) => !FIELD_NAME.test(name));
  const most = Math.max(...objects.map((object) => entryCount(object, counts)));
  const values = entries.map(([, value]) => value);
  // Names that each of several rows has are columns.
  const areColumns = objects.length > 1 && entries.length === fields.size * objects.length;
  const isData = fields.size >= (data.length * 2 > fields.size ? DATA_LEAST : areColumns ? Infinity : DATA_SURELY);
  if (isData && typesOf(values, { ...printing, levels: 0 }, 0, true).filter((type) => type !== "null").length === 1) {
    const count = objects.length === 1 ? ` /* ${most} */` : "";
    return `{ [key: string]: ${typesOf(values, printing, depth + 1, true).join(" | ")} }${count}`;
  }
  // In an object that was read in part, a field that was not seen may be there.
  const whole = objects.filter((object) => entryCount(object, counts) === Object.keys(object).length).length;
  const shown = [...fields].map(([name, seen]) => {
    if (isBare) return written(name);
    const of = seen.map(([, value]) => value);
    return `${written(name)}${seen.length < whole ? "?" : ""}: ${typesOf(of, printing, depth + 1, inRow).join(" | ")}`;
  });
  const more = most > fields.size ? [`… ${most - fields.size} more`] : [];
  return `{ ${[...shown, ...more].join(", ")} }`;
}

function written(name: string): string {
  const short = cut(name, NAME_LENGTH);
  return /^[\p{L}_$][\p{L}\p{N}_$…]{0,40}$/u.test(short) ? short : `"${short.replaceAll('"', String.raw`\"`)}"`;
}

export function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}
