import type { ExecutionView } from "../../src/views/view.ts";
import { type AskedList, Refused, type Row, type Source } from "./source.ts";

/** What a file of `portcullis show --html` holds. It shows the first execution. */
export interface FileData {
  readonly executions: readonly ExecutionView[];
}

/** The data of the file that this page is; undefined for the page of a server. */
export function readFileData(): FileData | undefined {
  const element = document.querySelector("#data");
  return element?.textContent ? (JSON.parse(element.textContent) as FileData) : undefined;
}

export function fileSource({ executions }: FileData): Source {
  const rows = executions.map(({ execution, kind, state, tenant, startedAt, lastAt, records, driven, ...view }) => ({
    execution,
    kind,
    state,
    tenant,
    startedAt,
    records,
    driven,
    waitsFor: view.waiting.map(({ tool }) => tool),
    title: "source" in view ? view.source : "task" in view ? view.task : "",
    by: "language" in view ? view.language : "model" in view ? view.model : "",
    tools: [...new Set(view.calls.map(({ tool }) => tool))],
    ms: lastAt - startedAt,
    ...(view.outcome && { outcome: view.outcome.type }),
  }));
  return {
    isLive: false,
    list: async (asked) => ({ executions: rows.filter((row) => fits(row, asked)), hasMore: false }),
    view: async (execution) => {
      const found = executions.find((one) => one.execution === execution);
      if (!found) throw new Refused(404, "This file does not hold that execution.");
      return found;
    },
  };
}

function fits(
  { state, tools = [], execution, title }: Row,
  { state: wanted, tool = "", text = "" }: AskedList,
): boolean {
  if (wanted !== undefined && wanted !== state) return false;
  if (tool !== "" && !tools.some((name) => name.includes(tool))) return false;
  return `${execution}\n${title}`.toLowerCase().includes(text.toLowerCase());
}
