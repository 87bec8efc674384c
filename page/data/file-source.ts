import type { ExecutionView } from "../../src/serve/views/view.ts";
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
    ...(view.needs && { needs: view.needs }),
    waitsFor: view.waiting.map(({ tool }) => tool),
    title: view.title,
    by: "language" in view ? view.language : "model" in view ? view.model : "",
    tools: [...new Set(view.calls.map(({ tool }) => tool))],
    ms: lastAt - startedAt,
    ...(view.outcome && { outcome: view.outcome.type }),
  }));
  const known = (execution: string) => executions.find((one) => one.execution === execution);
  return {
    isLive: false,
    list: async (asked) => ({
      executions: rows.filter((row, index) => fits(row, asked, textOf(executions[index]))),
    }),
    known,
    watch: (execution, onView) => {
      const value = known(execution);
      onView(value ? { value } : { error: new Refused(404, "This file does not hold that execution.") });
    },
  };
}

function textOf(view: ExecutionView | undefined): string {
  if (view?.kind === "program") return view.source;
  return view?.kind === "conversation" ? view.task : "";
}

/** `searched`: the program or the task. */
function fits(
  { state, tools = [], execution, title }: Row,
  { state: wanted, tool = "", text = "" }: AskedList,
  searched: string,
): boolean {
  if (wanted !== undefined && wanted !== state) return false;
  if (tool !== "" && !tools.some((name) => name.includes(tool))) return false;
  return `${execution}\n${title}\n${searched}`.toLowerCase().includes(text.toLowerCase());
}
