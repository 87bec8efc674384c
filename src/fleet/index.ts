export { createFleet, type FleetOptions } from "./fleet.ts";
export { createPostgresJournal, type PostgresJournal, type StatementOptions } from "./postgres/postgres-journal.ts";
export type { PostgresJournalOptions } from "./postgres/postgres-options.ts";
export type {
  Fleet,
  FleetFigures,
  FleetRuntime,
  QueuedWakes,
  SubmitOptions,
  Worker,
  WorkOptions,
} from "../runtime/fleet.ts";
