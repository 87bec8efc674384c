/* `make bench-fleet`: what many machines cost, on a real PostgreSQL that it starts: a fleet beside one host, and its journal. */
import { noPostgres, PostgresServer } from "../postgres-support/postgres-server.ts";
import { fleetRows } from "./fleet-rows.ts";
import { postgresRows } from "./postgres-rows.ts";
import { figure, markdown } from "./table.js";

if (noPostgres) process.exit(1);
const rows: string[][] = [];
const row = (what: string, value: number, unit: string, aim: string) => {
  rows.push([what, `${figure(value)} ${unit}`.trim(), aim]);
  process.stderr.write(`${what}: ${figure(value)} ${unit}\n`);
};
await using server = await PostgresServer.start();
/** All rows, or only those of the fleet or of the journal. */
const rowsOf = process.env["ROWS"] ?? "all";
if (rowsOf !== "journal") await fleetRows(row, server);
if (rowsOf !== "fleet") await postgresRows(row, server);
process.stdout.write(`${markdown(["", "Portcullis", "aim"], rows)}\n`);
