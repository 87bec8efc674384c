import type { McpRuns } from "../../loops/mcp-runs.ts";
import { type ListedExecution, listedExecution } from "../../executions/list-executions.ts";
import type { Runtime } from "../../runtime.ts";
import { inSlices } from "../../values/in-slices.ts";
import { Lane } from "../../values/slice-scheduler.ts";
import { idPrefixOf, ownerOf, type Principal } from "../principal.ts";

/** Programs that are listed, and executions of the tenant that are looked at for them. */
const LISTED = 20;
const LOOKED_AT = 2000;

/** A program as the tool `result` lists it. */
export interface ListedProgram {
  readonly execution: string;
  readonly state: ListedExecution["state"];
  readonly startedAt: string;
  /** Names of the tools whose calls wait for the outside. */
  readonly waitsFor?: readonly string[];
}

/** The latest programs of a principal. */
export async function listExecutionsOf(
  { journal }: Pick<Runtime, "journal">,
  principal: Principal,
  runs: McpRuns,
): Promise<readonly ListedProgram[]> {
  const listed: ListedProgram[] = [];
  const prefix = idPrefixOf(principal);
  const { tenant } = principal;
  let lookedAt = 0;
  for await (const summary of inSlices(journal.list({ tenant }), new Lane(tenant))) {
    lookedAt += 1;
    if (lookedAt > LOOKED_AT || listed.length >= LISTED) break;
    // The records of one that is open are all read.
    if (summary.kind !== "program" || !summary.execution.startsWith(prefix)) continue;
    const { id, state, startedAt, waitsFor } = await listedExecution(journal, summary);
    const isHere = runs.find(id, ownerOf(principal))?.isOver === false;
    listed.push({
      execution: id,
      state: isHere ? "running" : state,
      startedAt: new Date(startedAt).toISOString(),
      ...(waitsFor.length === 0 ? {} : { waitsFor }),
    });
  }
  return listed;
}
