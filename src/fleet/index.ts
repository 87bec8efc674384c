export { createFleet } from "./fleet.ts";
export type { Fleet, FleetFigures, FleetOptions } from "./fleet.ts";
export type { QueuedWakes } from "./queue/pg-boss-queue.ts";
export type { Worker } from "./worker.ts";
export type { SubmitOptions, WaitOptions, WorkOptions } from "./fleet-options.ts";
