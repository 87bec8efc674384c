import { z } from "zod";

/**
 * Like `z.object`. Its type has the fields as they are written, so declaration files and editors show their comments. The
 * type that zod gives has no comments.
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
