import type { ExecutionView, ViewPatch } from "./view.ts";

/** The later view. Neither view is changed. */
export function applyPatch(view: ExecutionView, { set, unset, lists }: ViewPatch): ExecutionView {
  const fields = new Map<string, unknown>(Object.entries(view));
  for (const [name, value] of Object.entries(set)) fields.set(name, value);
  for (const name of unset) fields.delete(name);
  for (const [name, { length, items }] of Object.entries(lists)) {
    const was = fields.get(name);
    const list: unknown[] = Array.isArray(was) ? was.slice(0, length) : [];
    for (const { index, item } of items) list[index] = item;
    fields.set(name, list);
  }
  return Object.fromEntries(fields) as unknown as ExecutionView;
}
