import { z } from "zod";

/**
 * Like `z.object`. Its type keeps the fields as they are written: in declaration files the comments of fields stand there,
 * and editors show them. The type that zod gives has none.
 */
export function objectSchema<Fields extends z.core.$ZodLooseShape>(fields: Fields): z.ZodObject<Fields> {
  return z.object(fields) as z.ZodType as z.ZodObject<Fields>;
}

/** Like `z.strictObject`, with the fields' comments. */
export function strictObjectSchema<Fields extends z.core.$ZodLooseShape>(
  fields: Fields,
): z.ZodObject<Fields, z.core.$strict> {
  return z.strictObject(fields) as z.ZodType as z.ZodObject<Fields, z.core.$strict>;
}
