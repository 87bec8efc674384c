import type { WaitingView } from "../../../src/serve/views/view.ts";

/** Calls that are put into the document to be decided. */
const AT_ONCE = 50;

/** The calls that were decided, and the first calls that wait. */
export function firstOpen<One extends Pick<WaitingView, "id">>(
  all: readonly One[],
  open: ReadonlySet<string>,
): { readonly shown: readonly One[]; readonly left: number } {
  let room = AT_ONCE;
  const shown = all.filter(({ id }) => !open.has(id) || (room -= 1) >= 0);
  return { shown, left: all.length - shown.length };
}
