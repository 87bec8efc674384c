import type { CallTexts, ExecutionView } from "../../src/serve/views/view.ts";
import { followView } from "./follow-view.ts";
import { Kept } from "./kept.ts";
import { type AskedList, Refused, type Row, type Source } from "./source.ts";

/** The executions of the server that this page comes from. Addresses are relative: the page may be served below a path. */
export function serverSource(token: () => string | undefined): Source {
  const views = new Kept<ExecutionView>();
  const texts = new Kept<CallTexts>();
  const ask = async (path: string, init: RequestInit) => {
    const key = token();
    const headers = { ...(init.headers as Record<string, string> | undefined) };
    if (key !== undefined) headers["authorization"] = `Bearer ${key}`;
    const response = await fetch(`v1/executions${path}`, { ...init, headers, cache: "no-store", redirect: "error" });
    if (!response.ok) throw new Refused(response.status, await messageOf(response));
    return response;
  };
  const read = async <Value>(path: string, signal: AbortSignal) =>
    (await (await ask(path, { signal })).json()) as Value;
  const one = (execution: string) => `/${encodeURIComponent(execution.toWellFormed())}`;
  return {
    list: async (asked, signal) => {
      const { executions, cursor } = await read<Page>(queryOf(asked), signal);
      return { executions, ...(cursor === undefined ? {} : { next: Number(cursor) }) };
    },
    known: (execution) => views.get(execution),
    watch: (execution, onView, signal) => {
      const known = views.get(execution);
      if (known) return onView({ value: known });
      const headers = { accept: "text/event-stream" };
      void followView(
        () => ask(`${one(execution)}/view/events`, { signal, headers }),
        (asked, length) => {
          if (asked.value?.state === "ended") views.keep(execution, asked.value, length);
          if (!signal.aborted) onView(asked);
        },
        signal,
      );
    },
    call: async (execution, id, signal) => {
      const name = JSON.stringify([execution, id]);
      const known = texts.get(name);
      if (known) return known;
      const found = await read<CallTexts>(`${one(execution)}/calls/${encodeURIComponent(id.toWellFormed())}`, signal);
      // A call with a result has ended.
      if (found.result !== undefined) texts.keep(name, found, found.input.length + found.result.length);
      return found;
    },
    decide: async (execution, id, { answer, result, ...more }) => {
      // Written by hand: an object would lose a call with a name like `__proto__`, and a number of JSON its digits.
      const said = result === undefined ? `"allow":${answer === "allow"}` : `"done":{"value":${result}}`;
      const body = `{"decisions":{${JSON.stringify(id)}:{${[said, JSON.stringify(more).slice(1, -1)].filter(Boolean).join(",")}}}}`;
      const headers = { "content-type": "application/json" };
      await ask(`${one(execution)}/decisions`, { method: "POST", headers, body });
    },
  };
}

interface Page {
  readonly executions: readonly Row[];
  /** Leads to the next part; missing in the last part. */
  readonly cursor?: string;
}

function queryOf({ before, state, tool, text }: AskedList): string {
  const given = Object.entries({ state, tool, text, cursor: before?.toString() });
  const query = new URLSearchParams(given.flatMap(([name, value]) => (value ? [[name, value]] : []))).toString();
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
