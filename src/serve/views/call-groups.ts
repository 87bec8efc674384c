import { type Took, tookOf } from "./timeline.ts";
import type { CallState, CallView } from "./view.ts";

/** So many equal calls are one row until it is opened. */
const EQUAL_CALLS = 12;

/** A row of the calls: one call, or many equal calls. */
export type CallRow =
  | { readonly type: "call"; readonly call: CallView; readonly level: 1 | 2 }
  | { readonly type: "group"; readonly group: CallGroup };

/** Calls of one tool that stand alike. */
export interface CallGroup {
  readonly key: string;
  readonly tool: string;
  readonly state: CallState;
  readonly detail: string;
  readonly calls: readonly CallView[];
  /** Missing while none of them has ended. */
  readonly took?: Took | undefined;
  readonly bytes: number;
}

/** The calls in the order in which they were made. Equal calls are together if there are many of them. */
export function callRows(calls: readonly CallView[], open: ReadonlySet<string>): readonly CallRow[] {
  return groupsOf(calls).flatMap((group): CallRow[] => {
    if (group.calls.length < EQUAL_CALLS) return group.calls.map((call) => ({ type: "call", call, level: 1 }));
    const own: CallRow = { type: "group", group };
    if (!open.has(group.key)) return [own];
    return [own, ...group.calls.map((call): CallRow => ({ type: "call", call, level: 2 }))];
  });
}

function groupsOf(calls: readonly CallView[]): readonly CallGroup[] {
  const groups = Map.groupBy(calls, (call) => JSON.stringify([call.tool, call.state, codeOf(call)]));
  // Few equal calls stand where they were made, between the others.
  const all = [...groups].flatMap(([key, group]) =>
    group.length >= EQUAL_CALLS ? [groupOf(key, group)] : group.map((call) => groupOf(call.id, [call])),
  );
  return all.toSorted((a, b) => (a.calls[0]?.at ?? 0) - (b.calls[0]?.at ?? 0));
}

function groupOf(key: string, calls: readonly CallView[]): CallGroup {
  const [first] = calls;
  return {
    key,
    tool: first?.tool ?? "",
    state: first?.state ?? "open",
    detail: first ? codeOf(first) : "",
    calls,
    took: tookOf(calls),
    bytes: calls.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Values of one tool are equal whatever their kind; refusals and failures by their codes. */
function codeOf({ state, detail = "" }: CallView): string {
  return state === "refused" || state === "failed" ? detail : "";
}

/** Bytes that the full bar of a stream stands for: four times as many whenever the largest stream has filled it. */
export function streamScale(calls: readonly CallView[]): number {
  let largest = 0;
  for (const { items, bytes } of calls) if (items !== undefined) largest = Math.max(largest, bytes);
  let scale = 1024;
  while (scale < largest) scale *= 4;
  return scale;
}
