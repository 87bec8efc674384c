import { isDeepStrictEqual } from "node:util";
import type { Fields, SlicedWork } from "../../base/index.ts";
import type { ExecutionView, ViewPatch } from "./view.ts";

/** Items that are compared between two checks whether the host's thread must be yielded. */
const COMPARED = 128;

/** What makes one view of an execution out of an earlier view; undefined if they are equal. */
export function* patchOf(before: ExecutionView, after: ExecutionView): SlicedWork<ViewPatch | undefined> {
  const [old, now] = [before, after] as readonly unknown[] as readonly [Fields, Fields];
  const set: Record<string, unknown> = {};
  const lists: Record<string, ViewPatch["lists"][string]> = {};
  for (const [name, value] of Object.entries(now)) {
    const was = old[name];
    if (Array.isArray(was) && Array.isArray(value)) {
      const items = yield* changedItems(was, value);
      if (items.length > 0 || was.length !== value.length) lists[name] = { length: value.length, items };
    } else if (!isDeepStrictEqual(was, value)) set[name] = value;
  }
  const unset = Object.keys(old).filter((name) => old[name] !== undefined && now[name] === undefined);
  const isEmpty = unset.length + Object.keys(set).length + Object.keys(lists).length === 0;
  return isEmpty ? undefined : { set, unset, lists };
}

type Changed = ViewPatch["lists"][string]["items"][number];

function* changedItems(was: readonly unknown[], now: readonly unknown[]): SlicedWork<Changed[]> {
  const changed: Changed[] = [];
  for (const [index, item] of now.entries()) {
    if (index >= was.length || !isDeepStrictEqual(was[index], item)) changed.push({ index, item });
    if (index % COMPARED === 0) yield;
  }
  return changed;
}
