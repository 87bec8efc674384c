import { existsSync } from "node:fs";
import { POSTGRES_URL } from "../../fleet/postgres/connection/address.ts";
import { createPostgresJournal, type PostgresJournal } from "../../fleet/postgres/postgres-journal.ts";
import { createSqliteJournal, type SqliteJournal } from "../../journal/sqlite/sqlite-journal.ts";
import { optionError, count, type ExecutionId } from "../../base/index.ts";
import { UsageFailure } from "../failure.ts";
import { findIfKnown, HOST, readHeader, readList } from "../../journal/reading/index.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Header } from "../../journal/record.ts";
import { findOwn } from "../../executions/from-journal/index.ts";
import { chosenId } from "../../serve/tenant-ids.ts";
import { oneLine } from "../terminal/standard-streams.ts";

/** Where the journal is if the option `--journal` is not given. */
const VARIABLE = "PORTCULLIS_JOURNAL";

/** How long a command waits for a database that it only reads, in milliseconds: a person waits for the answer. */
const READING_MS = 5000;

/** The journal of a command. */
export type OpenJournal = SqliteJournal | PostgresJournal;

/** The file of the journal, or the URL of its database, of `--journal`, or of the environment; undefined if neither names one. */
export function journalPathOf(path = process.env[VARIABLE]): string | undefined {
  // A file has no such name: what stands before `://` is all that is told, because the rest may have a password.
  const scheme = /^(?!postgres(?:ql)?:)[a-z][a-z\d+.-]{0,30}(?=:\/\/)/i.exec(path ?? "");
  if (scheme) throw optionError("--journal", "a file, or postgres://user@host/database", `${scheme[0]}://…`);
  return path || undefined;
}

/** The journal of `--journal` or of the environment; undefined if neither names one. */
export function optionalJournal(named?: string, unavailableMs?: number): OpenJournal | undefined {
  const path = journalPathOf(named);
  if (path === undefined) return undefined;
  if (POSTGRES_URL.test(path)) return createPostgresJournal({ url: path, unavailableMs });
  return createSqliteJournal({ path });
}

/** The journal of `--journal` or of the environment, if it is in a database. */
export function databaseJournal(named?: string): PostgresJournal | undefined {
  const path = journalPathOf(named);
  return path !== undefined && POSTGRES_URL.test(path) ? createPostgresJournal({ url: path }) : undefined;
}

/** The URL of the journal of a fleet. Throws if none is named, or a file: other machines do not reach it. `what` needs it. */
export function fleetJournalOf(named: string | undefined, what: string): string {
  const url = journalPathOf(named);
  if (url !== undefined && POSTGRES_URL.test(url)) return url;
  throw new UsageFailure(
    `${what} needs the journal of its fleet, in PostgreSQL: --journal postgres://user@host/database, or ${VARIABLE}.`,
  );
}

/** Refuses an option that names an execution without a journal, which alone knows it by its id. */
export function needsJournal(option: string, id: string | undefined, journal: string | undefined): void {
  if (id !== undefined && journalPathOf(journal) === undefined)
    throw new UsageFailure(`${option} needs the journal that knows its id: add --journal FILE.`);
}

/** The journal that a command writes; its file is created if it does not exist. Throws if none is named. */
export function namedJournal(path?: string, unavailableMs?: number): OpenJournal {
  const journal = optionalJournal(path, unavailableMs);
  if (journal) return journal;
  throw new UsageFailure(
    `No journal is named. Give its file, or the URL of its database, with --journal, or in ${VARIABLE}.`,
  );
}

/** The journal that a command reads. Throws if none is named, or if its file does not exist: reading creates none. */
export function existingJournal(named?: string): OpenJournal {
  const path = journalPathOf(named);
  if (path !== undefined && !POSTGRES_URL.test(path) && !existsSync(path))
    throw new UsageFailure(`There is no journal ${path}. A run with --journal ${path} creates it.`);
  return namedJournal(path, READING_MS);
}

/** Number of tenants that an error names. */
const NAMED = 5;

/**
 * The id in the journal of an execution that a person names: by that id, or by the id that a client of a server has
 * chosen. Without a tenant it looks in all tenants. Throws if several tenants have an execution of that name, or only
 * another tenant has one, and `execution_unknown` if there is none.
 */
export async function findExecution(journal: Journal, id: string, tenant?: string): Promise<ExecutionId> {
  const own = await findIfKnown(journal, id);
  if (own && (tenant === undefined || own.tenant === tenant)) return id;
  const tenants = await tenantsWith(journal, id);
  const only = tenants.length === 1 ? tenants[0] : undefined;
  const meant = tenant === undefined ? only : tenants.find((one) => one === tenant);
  if (meant !== undefined) return chosenId(meant, id);
  if (tenants.length > 0) throw new UsageFailure(othersText(id, tenants, tenant));
  return (await (tenant === undefined ? journal.find(id) : findOwn({ journal, tenant }, id))).execution;
}

function othersText(id: string, tenants: readonly string[], tenant: string | undefined): string {
  const more = tenants.length > NAMED ? ` and ${count(tenants.length - NAMED)} more` : "";
  const names = tenants.slice(0, NAMED).map(oneLine).join(", ") + more;
  return tenant === undefined
    ? `Several tenants have an execution ${oneLine(id)}: ${names}. Choose one with --tenant.`
    : `Tenant ${oneLine(tenant)} has no execution ${oneLine(id)}, but another tenant has: choose it with --tenant (${names}).`;
}

/** The tenants whose clients have chosen an id. */
async function tenantsWith(journal: Journal, id: string): Promise<readonly string[]> {
  const tenants: string[] = [];
  for await (const { execution, tenant } of readList(journal))
    if (execution.endsWith(`:${id}`) && execution === chosenId(tenant, id)) tenants.push(tenant);
  return tenants;
}

/** The header of what is taken up for an execution to go on: of its conversation, for a program of one that the journal has. */
export async function readResumedHeader(journal: Journal, execution: string): Promise<Header | undefined> {
  const own = await readHeader(journal, execution, HOST);
  const whole = own?.parent && (await findIfKnown(journal, own.parent.execution));
  return whole ? await readHeader(journal, whole.execution, HOST) : own;
}
