import type { CallTexts, ExecutionView } from "../../src/views/view.ts";
import { followEvents } from "./follow-events.ts";
import { type AskedList, type Listed, Refused, type Row, type Source } from "./source.ts";

/** The executions of the server that this page comes from. */
export function serverSource(token: () => string | undefined): Source {
  const ask = async (path: string, init: RequestInit) => {
    const key = token();
    const headers = { ...(init.headers as Record<string, string> | undefined) };
    if (key !== undefined) headers.authorization = `Bearer ${key}`;
    const response = await fetch(`/v1/executions${path}`, { ...init, headers, cache: "no-store", redirect: "error" });
    if (!response.ok) throw new Refused(response.status, await messageOf(response));
    return response;
  };
  const read = async <Value>(path: string, signal: AbortSignal) =>
    (await (await ask(path, { signal })).json()) as Value;
  const one = (execution: string) => `/${encodeURIComponent(execution.toWellFormed())}`;
  return {
    isLive: true,
    list: (asked, signal) => listed((query) => read<Page>(query, signal), asked),
    view: (execution, signal) => read<ExecutionView>(`${one(execution)}/view`, signal),
    call: (execution, id, signal) =>
      read<CallTexts>(`${one(execution)}/calls/${encodeURIComponent(id.toWellFormed())}`, signal),
    decide: async (execution, id, decision) => {
      // Written by hand: an object would lose a call with a name like `__proto__`.
      const body = `{"decisions":{${JSON.stringify(id)}:${JSON.stringify(decision)}}}`;
      const headers = { "content-type": "application/json" };
      await ask(`${one(execution)}/decisions`, { method: "POST", headers, body });
    },
    watch: (execution, onEvent, signal) => {
      const open = (last: string | undefined) =>
        ask(`${one(execution)}/events`, {
          signal,
          headers: { accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) },
        });
      void followEvents(open, onEvent, signal);
    },
  };
}

interface Page {
  readonly executions: readonly Row[];
  /** Leads to the next part; missing in the last part. */
  readonly cursor?: string;
}

async function listed(read: (query: string) => Promise<Page>, { pages = 1, ...filter }: AskedList): Promise<Listed> {
  const executions: Row[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    const one = await read(queryOf({ ...filter, cursor }));
    executions.push(...one.executions);
    cursor = one.cursor;
    if (cursor === undefined) break;
  }
  return { executions, hasMore: cursor !== undefined };
}

function queryOf(filter: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined && value !== "");
  const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return query === "" ? "" : `?${query}`;
}

async function messageOf(response: Response): Promise<string> {
  const fallback = `The server answered with status ${response.status}.`;
  try {
    const body = (await response.json()) as { readonly error?: { readonly message?: unknown } } | null;
    const message = body?.error?.message;
    return typeof message === "string" ? message : fallback;
  } catch {
    return fallback;
  }
}
