/*
 * `make bench-fleet`: what many machines cost, on a real PostgreSQL that it starts: a fleet beside one host, and its journal.
 * `ROWS=calls,kills make bench-fleet` measures these parts alone.
 */
import { noPostgres, PostgresServer } from "../postgres-support/postgres-server.ts";
import { callRows } from "./fleet/call-rows.ts";
import { decisionRows } from "./fleet/decision-rows.ts";
import type { Rows } from "./fleet/fleet-bench.ts";
import { growthRows } from "./fleet/growth-rows.ts";
import { journalRows } from "./fleet/journal-rows.ts";
import { killRows } from "./fleet/kill-rows.ts";
import { throughputRows } from "./fleet/throughput-rows.ts";
import { figure, markdown } from "./table.js";

const PARTS: Readonly<Record<string, Rows>> = {
  throughput: throughputRows,
  calls: callRows,
  kills: killRows,
  decisions: decisionRows,
  growth: growthRows,
  journal: journalRows,
};

if (noPostgres) process.exit(1);
const asked = process.env["ROWS"]?.split(",") ?? Object.keys(PARTS);
const unknown = asked.filter((part) => !Object.hasOwn(PARTS, part));
if (unknown.length > 0)
  throw new Error(`ROWS names ${unknown.join(", ")}. Its parts are: ${Object.keys(PARTS).join(", ")}.`);
const rows: string[][] = [];
const row = (what: string, value: number, unit: string, aim: string) => {
  rows.push([what, `${figure(value)} ${unit}`.trim(), aim]);
  process.stderr.write(`${what}: ${figure(value)} ${unit}\n`);
};
await using server = await PostgresServer.start();
for (const part of asked) await PARTS[part]?.(row, server);
process.stdout.write(`${markdown(["", "Portcullis", "aim"], rows)}\n`);
