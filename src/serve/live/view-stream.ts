import { type ExecutionId, jsonInParts, Lane, monotonic, type SlicedWork } from "../../base/index.ts";
import { findIfKnown } from "../../journal/reading/index.ts";
import type { Journal } from "../../journal/journal.ts";
import type { TextBounds } from "../views/parts/text-allowance.ts";
import { viewExecution } from "../views/view-execution.ts";
import type { ExecutionView } from "../views/view.ts";
import type { TenantIds } from "../tenant-ids.ts";
import { patchOf } from "../views/view-patch.ts";
import { type LiveReader, liveStream, type LiveStreamParts } from "./live-stream.ts";

/** Shortest time between two views, in milliseconds, and as a multiple of what the last view took. */
const REST_MS = 200;
const REST_SHARE = 4;

export interface ViewStreamParts extends LiveStreamParts {
  readonly journal: Journal;
  readonly tenant: string;
  readonly bounds: TextBounds;
  readonly ids: TenantIds;
}

/**
 * The view of an execution as a stream of server-sent events: the whole view, then what changes in it, to the end of the
 * execution. Records that come while the client reads, or shortly one after the other, are one change.
 */
export function viewStream(parts: ViewStreamParts): ReadableStream<Uint8Array> {
  return liveStream(parts, viewReader(parts));
}

function viewReader({ journal, execution, tenant, bounds, ids }: ViewStreamParts): LiveReader {
  const lane = new Lane(tenant);
  let last: ExecutionView | undefined;
  const changeTo = async (view: ExecutionView) => {
    const change = last ? await lane.work(patchOf(last, view)) : view;
    return change && `event: ${last ? "patch" : "view"}\ndata: ${await lane.work(jsonInParts(change))}\n\n`;
  };
  return async () => {
    const began = monotonic();
    const programs = await positionsOf(journal, openPrograms(last));
    const view = ids.shownIn(tenant, await viewExecution(journal, execution, bounds));
    const text = (await changeTo(view)) ?? "";
    last = view;
    // A program that was not looked at before the view was read may have more records since.
    const begun = openPrograms(view).map((id) => [id, programs.get(id) ?? 0] as const);
    const positions = new Map([...begun, [execution, view.records]]);
    const restMs = Math.max(REST_MS, (monotonic() - began) * REST_SHARE);
    return {
      text,
      heldBytes: await lane.work(heldBy(view)),
      positions,
      isAtEnd: true,
      isOver: view.state === "ended",
      restMs,
    };
  };
}

/** What the programs of a conversation do changes its view, and is in their own records. */
async function positionsOf(journal: Journal, ids: readonly ExecutionId[]): Promise<ReadonlyMap<ExecutionId, number>> {
  const positions = new Map<ExecutionId, number>();
  for (const id of ids) positions.set(id, (await findIfKnown(journal, id))?.records ?? Infinity);
  return positions;
}

const FIELD_BYTES = 16;

/** Items that are measured between two checks whether the host's thread must be yielded. */
const MEASURED = 128;

/** Memory of a view, in bytes. */
function* heldBy(view: ExecutionView): SlicedWork<number> {
  let held = 0;
  for (const [index, one] of Object.values(view).flat().entries()) {
    held += FIELD_BYTES + bytesOf(one);
    if (index % MEASURED === 0) yield;
  }
  return held;
}

function bytesOf(value: unknown): number {
  if (typeof value === "string") return 2 * value.length;
  if (typeof value !== "object" || value === null) return FIELD_BYTES;
  return Object.values(value).reduce<number>((sum, field) => sum + FIELD_BYTES + bytesOf(field), FIELD_BYTES);
}

function openPrograms(view: ExecutionView | undefined): readonly ExecutionId[] {
  if (view?.kind !== "conversation") return [];
  return view.turns.flatMap(({ programs }) =>
    programs.flatMap(({ execution, result }) => (result === undefined && execution !== undefined ? execution : [])),
  );
}
