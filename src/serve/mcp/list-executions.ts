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

/** The last entry, if programs of the client may be among those that were not looked at. */
const CUT = { note: "Older executions were not looked at. Ask for a program by its id before you run it again." };

/** What the tool `result` lists of a program. A model reads times as text. */
type ListedProgram = Pick<ListedExecution, "execution" | "state"> &
  Partial<Pick<ListedExecution, "waitsFor">> & { readonly startedAt: string };

export async function listExecutionsOf(
  { journal }: Pick<Runtime, "journal">,
  principal: Principal,
  runs: McpRuns,
): Promise<readonly (ListedProgram | typeof CUT)[]> {
  const listed: ListedProgram[] = [];
  const prefix = idPrefixOf(principal);
  const { tenant } = principal;
  let lookedAt = 0;
  const budget = new ReadingBudget(LOOKED_THROUGH);
  // Of others' executions there may be any number since, but few of them are open.
  for (const open of [true, false])
    for await (const summary of readList(journal, { tenant, open })) {
      lookedAt += 1;
      if (listed.length >= LISTED) return listed;
      if (lookedAt > LOOKED_AT) return [...listed, CUT];
      // All records of an open execution are read.
      if (summary.kind !== "program" || !summary.execution.startsWith(prefix)) continue;
      // It may have ended since it was listed as open.
      if (listed.some((one) => one.execution === summary.execution)) continue;
      const { execution, state, startedAt, waitsFor } = await listExecution(journal, summary, budget);
      const isHere = runs.find(execution, ownerOf(principal))?.isOver === false;
      listed.push({
        execution,
        state: isHere ? "running" : state,
        startedAt: new Date(startedAt).toISOString(),
        waitsFor: waitsFor.length > 0 ? waitsFor : undefined,
      });
    }
  return listed;
}
