import { TenantResults } from "../../../tools/observed/tenant-results.ts";
import type { Tool } from "../../../tools/tool.ts";
import { existingJournal } from "../../input/open-journal.ts";

/** Shows tools with what their results were like, as a journal keeps it for a tenant; as they are without a journal. */
export async function observedBy(path: string | undefined, tenant = "default"): Promise<(tool: Tool) => Tool> {
  if (path === undefined) return (tool) => tool;
  const journal = existingJournal(path);
  try {
    const onError = (error: unknown) => {
      throw error;
    };
    const results = new TenantResults(tenant, { store: journal, hidden: undefined, onError });
    await results.ready();
    return results.shown;
  } finally {
    if (Symbol.dispose in journal) journal[Symbol.dispose]();
    else await journal[Symbol.asyncDispose]();
  }
}
