import { type ExecutionId, monotonic, PortcullisError } from "../base/index.ts";
import type { ExecutionSummary, WorkerNeeds } from "../journal/journal.ts";
import { readHeader } from "../journal/reading/index.ts";
import type { Header } from "../journal/record.ts";
import { changedTools } from "../executions/from-journal/index.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { FleetJournal } from "./fleet-journal.ts";

/** How long a worker passes an execution on without reading it that it cannot take up itself, in milliseconds. */
const UNFIT_MS = 30_000;
const MOST_UNFIT = 10_000;

/** Codes of what another worker may have: the tools, the sandbox, or the version of the package that began the execution. */
const WHAT: ReadonlyMap<string, WorkerNeeds["what"]> = new Map([
  ["tools_changed", "tools"],
  ["sandbox_unavailable", "sandbox"],
  ["journal_version", "protocol"],
]);

/** What another worker must have to take an execution up that failed here; undefined if it would fail there too. */
export function lackOf(error: Error | undefined): WorkerNeeds["what"] | undefined {
  return PortcullisError.is(error) ? WHAT.get(error.code) : undefined;
}

/** What this worker lacks for an execution; its header tells the names if they are missing. */
export type Lack = Pick<WorkerNeeds, "what"> & Partial<Pick<WorkerNeeds, "names">>;

/** The executions that this worker cannot take up itself. The journal notes what it lacks, for those who look at it. */
export function misfitsOf(journal: FleetJournal, tools: () => ToolSet) {
  /** Each with the moment from which it is tried again. */
  const until = new Map<ExecutionId, number>();
  return {
    has: (execution: ExecutionId): boolean => monotonic() < (until.get(execution) ?? 0),

    async add({ execution, tenant }: Pick<ExecutionSummary, "execution" | "tenant">, lack: Lack): Promise<void> {
      until.delete(execution);
      until.set(execution, monotonic() + UNFIT_MS);
      const [oldest] = until.keys();
      if (until.size > MOST_UNFIT) until.delete(oldest!);
      const header = await readHeader(journal, execution, { tenant });
      const { what, names = header ? namesOf(tools, header, what) : [] } = lack;
      await journal.rows.lack(execution, { what, names });
    },
  };
}

function namesOf(tools: () => ToolSet, header: Header, what: WorkerNeeds["what"]): readonly string[] {
  switch (what) {
    case "tools": {
      const { gone, changed } = changedTools(tools(), header);
      return [...gone, ...changed];
    }
    case "sandbox":
      return header.kind === "program" ? [`${header.sandbox} for ${header.language}`] : [];
    case "protocol":
      return header.kind === "program" ? [header.versions["protocol"] ?? ""] : [];
    case "model":
      return [];
  }
}
