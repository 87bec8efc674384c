/** The fields asked for, or all of them if none are named. */
export function pick<Row extends object>(row: Row, fields: readonly (keyof Row)[] | undefined): Partial<Row> {
  return fields ? (Object.fromEntries(fields.map((field) => [field, row[field]])) as Partial<Row>) : row;
}
