import type { McpRuns } from "../../executions/mcp-runs/index.ts";
import { type ListedExecution, listExecution } from "../../runtime/executions/index.ts";
import type { Runtime } from "../../runtime/create-runtime.ts";
import { ReadingBudget, readList } from "../../journal/reading/index.ts";
import { idPrefixOf, ownerOf, type Principal } from "../principal.ts";

/** Programs that are listed, and executions of the tenant that are looked at for them. */
const LISTED = 20;
const LOOKED_AT = 2000;
/** Characters that are read of open programs for one list. */
const LOOKED_THROUGH = 32 * 1024 * 1024;

/** What the tool `result` lists of a program. A model reads times as text. */
type ListedProgram = Pick<ListedExecution, "execution" | "state"> &
  Partial<Pick<ListedExecution, "waitsFor">> & { readonly startedAt: string };

export async function listExecutionsOf(
  { journal }: Pick<Runtime, "journal">,
  principal: Principal,
  runs: McpRuns,
): Promise<readonly ListedProgram[]> {
  const listed: ListedProgram[] = [];
  const prefix = idPrefixOf(principal);
  const { tenant } = principal;
  let lookedAt = 0;
  const budget = new ReadingBudget(LOOKED_THROUGH);
  for await (const summary of readList(journal, { tenant })) {
    lookedAt += 1;
    if (lookedAt > LOOKED_AT || listed.length >= LISTED) break;
    // All records of an open execution are read.
    if (summary.kind !== "program" || !summary.execution.startsWith(prefix)) continue;
    const { execution, state, startedAt, waitsFor } = await listExecution(journal, summary, budget);
    const isHere = runs.find(execution, ownerOf(principal))?.isOver === false;
    listed.push({
      execution,
      state: isHere ? "running" : state,
      startedAt: new Date(startedAt).toISOString(),
      ...(waitsFor.length === 0 ? {} : { waitsFor }),
    });
  }
  return listed;
}
