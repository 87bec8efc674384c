/* Checked by `tsc`: the parser's schemas and the types of records are the same, field by field. */
import type { z } from "zod";
import type { RECORD_SCHEMAS } from "../../src/journal/parse-records.ts";
import type { JournalRecord } from "../../src/journal/record.ts";

type Mutable<Value> = Value extends object ? { -readonly [Key in keyof Value]: Mutable<Value[Key]> } : Value;
type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : false) : false;
type Parsed = z.infer<(typeof RECORD_SCHEMAS)[keyof typeof RECORD_SCHEMAS]>;

type Fields<Union> = Union extends unknown ? [keyof Union, Union] : never;

export const sameTypes: Same<Mutable<Parsed>, Mutable<JournalRecord>> = true;
export const sameFields: Same<Fields<Mutable<Parsed>>[0], Fields<Mutable<JournalRecord>>[0]> = true;
