import { listExecutions } from "../../executions/list-executions.ts";
import { EXIT } from "../exit-code.ts";
import { existingJournal } from "../input/open-journal.ts";
import { printJson, printTable } from "../terminal/print.ts";

export interface ExecutionsOptions {
  readonly journal?: string;
  readonly open?: boolean;
  readonly tenant?: string;
  readonly json?: boolean;
}

/** `portcullis executions`: lists what the journal holds, the latest first. With `--json`, one document a line. */
export async function executions(options: ExecutionsOptions): Promise<number> {
  using journal = existingJournal(options.journal);
  const { open, tenant } = options;
  const listed = listExecutions(journal, { ...(open ? { open } : {}), ...(tenant === undefined ? {} : { tenant }) });
  if (options.json) {
    for await (const execution of listed) printJson(execution);
    return EXIT.completed;
  }
  const rows: string[][] = [];
  for await (const { id, kind, state, tenant: owner, startedAt, records, driven, waitsFor, parent } of listed)
    rows.push([
      id,
      kind,
      state === "running" && !driven ? "running, without a driver" : state,
      owner,
      new Date(startedAt).toISOString(),
      String(records),
      parent === undefined ? waitsFor.join(", ") : `goes on with ${parent}`,
    ]);
  printTable(["execution", "kind", "state", "tenant", "started", "records", "waits for"], rows, ["records"]);
  return EXIT.completed;
}
