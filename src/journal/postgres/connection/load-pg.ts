import { loadPackage } from "../../../errors.ts";

export type Pg = (typeof import("pg"))["default"];

/** The package that speaks PostgreSQL's protocol, loaded with the first use of such a journal: most programs have none. */
export async function loadPg(): Promise<Pg> {
  const missing = "createPostgresJournal needs the package pg: npm install pg.";
  const { default: pg } = await loadPackage("journal_unavailable", missing, () => import("pg"));
  return pg;
}
