import type { ExecutionSummary, Journal } from "../journal/journal.ts";
import type { Header } from "../journal/record.ts";
import { isDriven } from "../programs/driven-here.ts";

/** The fields of the header that the views of all kinds have. */
export function baseOf(journal: Journal, summary: ExecutionSummary, header: Header) {
  const { execution, tenant, startedAt, versions, parent } = header;
  return {
    execution,
    tenant,
    startedAt,
    driven: isDriven(journal, summary),
    versions: Object.entries(versions).map(([name, text]) => ({ name, text })),
    ...(parent && { parent: { execution: parent.execution, call: parent.call } }),
  };
}
