import { type ExecutionId, jsonInParts, Lane, monotonic } from "../../base/index.ts";
import { findIfKnown } from "../../journal/reading/index.ts";
import type { Journal } from "../../journal/journal.ts";
import type { TextBounds } from "../views/parts/text-allowance.ts";
import { LiveView } from "../views/live-view.ts";
import type { ExecutionView } from "../views/view.ts";
import { patchOf } from "../views/view-patch.ts";
import { type LiveReader, liveStream, type LiveStreamParts } from "./live-stream.ts";

/** Shortest time between two views, in milliseconds, and as a multiple of what the last view took. */
const REST_MS = 200;
const REST_SHARE = 4;

export interface ViewStreamParts extends LiveStreamParts {
  readonly journal: Journal;
  readonly tenant: string;
  readonly bounds: TextBounds;
  /** The view with its ids as its tenant writes them. */
  readonly shown: (view: ExecutionView) => ExecutionView;
}

/**
 * The view of an execution as a stream of server-sent events: the whole view, then what changes in it, to the end of the
 * execution. Records that come while the client reads, or shortly one after the other, are one change.
 */
export function viewStream(parts: ViewStreamParts): ReadableStream<Uint8Array> {
  return liveStream(parts, new ViewChanges(parts));
}

class ViewChanges implements LiveReader {
  readonly #parts: ViewStreamParts;
  readonly #lane: Lane;
  readonly #live: LiveView;
  #last: ExecutionView | undefined;
  readonly isAtEnd = true;
  isOver = false;
  restMs = 0;
  positions: ReadonlyMap<ExecutionId, number>;

  constructor(parts: ViewStreamParts) {
    const { journal, execution, bounds, tenant } = parts;
    this.#parts = parts;
    this.#lane = new Lane(tenant);
    this.#live = new LiveView(journal, execution, bounds);
    this.positions = new Map([[execution, 0]]);
  }

  get heldBytes(): number {
    return this.#live.heldBytes;
  }

  readonly next = async (): Promise<string> => {
    const began = monotonic();
    const programs = await this.#positionsOfPrograms();
    const view = await this.#live.next();
    const text = await this.#change(this.#parts.shown(view));
    // A program that was not looked at before the view was read may have more records since.
    const begun = openPrograms(view).map((id) => [id, programs.get(id) ?? 0] as const);
    this.positions = new Map([...begun, [this.#parts.execution, view.records]]);
    this.isOver = view.state === "ended";
    this.restMs = Math.max(REST_MS, (monotonic() - began) * REST_SHARE);
    return text;
  };

  async #change(view: ExecutionView): Promise<string> {
    const last = this.#last;
    this.#last = view;
    const change = last ? await this.#lane.work(patchOf(last, view)) : view;
    if (!change) return "";
    const data = await this.#lane.work(jsonInParts(change));
    return `event: ${last ? "patch" : "view"}\ndata: ${data}\n\n`;
  }

  /** What the programs of a conversation do changes its view, and is in their own records. */
  async #positionsOfPrograms(): Promise<ReadonlyMap<ExecutionId, number>> {
    const positions = new Map<ExecutionId, number>();
    for (const id of openPrograms(this.#last))
      positions.set(id, (await findIfKnown(this.#parts.journal, id))?.records ?? Number.POSITIVE_INFINITY);
    return positions;
  }
}

function openPrograms(view: ExecutionView | undefined): readonly ExecutionId[] {
  if (view?.kind !== "conversation") return [];
  return view.turns.flatMap(({ programs }) =>
    programs.flatMap(({ execution, result }) => (result === undefined && execution !== undefined ? [execution] : [])),
  );
}
