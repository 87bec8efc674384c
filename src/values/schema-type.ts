import type { z } from "zod";

/** The type of the values that a schema describes, read-only in all depths. */
export type SchemaType<Schema extends z.ZodType> = ReadOnly<z.output<Schema>>;

type ReadOnly<Value> = Value extends readonly (infer Entry)[]
  ? readonly ReadOnly<Entry>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: ReadOnly<Value[Name]> }
    : Value;
