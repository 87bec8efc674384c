import { findIfKnown, HOST, readHeader, readList } from "../../journal/reading/index.ts";
import { count, type ExecutionId } from "../../base/index.ts";
import type { Journal } from "../../journal/journal.ts";
import type { Header } from "../../journal/record.ts";
import { findOwn } from "../../executions/from-journal/index.ts";
import { chosenId } from "../../serve/tenant-ids.ts";
import { UsageFailure } from "../failure.ts";
import { oneLine } from "../terminal/one-line.ts";

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
