/* `make bench-durable`: what durable executions cost, without the other rows of `make bench`. */
import { durableRows } from "./durable-rows.ts";
import { figure, markdown } from "./table.js";

const rows: string[][] = [];
await durableRows((what, value, unit, _, aim) => {
  rows.push([what, `${figure(value)} ${unit}`.trim(), aim]);
  process.stderr.write(`${what}: ${figure(value)} ${unit}\n`);
});
process.stdout.write(`${markdown(["", "Portcullis", "aim"], rows)}\n`);
