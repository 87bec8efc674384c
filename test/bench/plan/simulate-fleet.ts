/* `make simulate-fleet`: what a fleet of 10,000 workers with 1,000,000 waiting executions would need, computed from measured costs. */
import { planTable } from "./plan-table.ts";

process.stdout.write(`${planTable()}\n`);
