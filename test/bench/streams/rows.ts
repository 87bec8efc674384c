/* What the benchmark of streams moves: rows of 200 bytes. */
import { z } from "zod";

export const ROW_BYTES = 200;
/** Rows of a page, and of a batch of the floor. */
export const PAGE_ROWS = 500;
export const FLOOR_BATCH = 1000;

export const Row = z.object({
  id: z.string(),
  customer: z.string(),
  amount: z.number(),
  isPaid: z.boolean(),
  note: z.string(),
});
export type Row = z.infer<typeof Row>;

const NOTE = "Delivered to the front door, and signed for by a neighbour of the customer in the same house. ".repeat(2);

export function rowOf(index: number): Row {
  const id = `order-${String(index).padStart(7, "0")}`;
  const customer = `customer-${String((index * 7919) % 100_000).padStart(5, "0")}`;
  const amount = 100 + ((index * 31) % 900);
  return { id, customer, amount, isPaid: true, note: NOTE.slice(0, 113) };
}

export function* rowsOf(count: number, from = 0): Generator<Row> {
  for (let index = from; index < from + count; index += 1) yield rowOf(index);
}

/** What the programs compute: the sum of all amounts. */
export function sumOf(count: number): number {
  let sum = 0;
  for (let index = 0; index < count; index += 1) sum += 100 + ((index * 31) % 900);
  return sum;
}
