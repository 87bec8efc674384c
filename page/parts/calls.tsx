import { useId, useMemo, useState } from "preact/hooks";
import type { CallView } from "../../src/views/view.ts";
import { callText, streamText } from "../../src/views/words.ts";
import { bytes, count, duration } from "../format.ts";
import { Text } from "../text.tsx";
import { visibleText } from "../visible-text.ts";
import { type CallRow, callRows, streamScale } from "../../src/views/call-groups.ts";
import { CallDetails } from "./call-details.tsx";
import { Rows } from "./rows.tsx";

export interface CallsProps {
  readonly execution: string;
  readonly calls: readonly CallView[];
  /** Number of calls that are not among `calls`. */
  readonly left?: number | undefined;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly until: number;
}

const ROW_HEIGHT = 28;

/** The calls over time. Equal calls are one row, which is opened on demand. The chosen call is shown whole beside them. */
export function Calls({ execution, calls, left = 0, from, until }: CallsProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState(0);
  const [chosen, setChosen] = useState<string>();
  const id = useId();
  const rows = useMemo(() => callRows(calls, open), [calls, open]);
  const scale = { from, width: Math.max(1, until - from), bytes: streamScale(calls) };
  const at = Math.min(active, rows.length - 1);
  const act = (index: number) => {
    const row = rows[index];
    setActive(index);
    if (row?.type === "call") setChosen(row.call.id);
    else if (row) setOpen(toggled(open, row.group.key));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = nextRow(event.key, at, rows);
    if (event.key === "Enter" || event.key === " ") act(at);
    else if (next !== undefined) setActive(next);
    else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const row = rows[at];
      if (row?.type !== "group" || open.has(row.group.key) === (event.key === "ArrowRight")) return;
      setOpen(toggled(open, row.group.key));
    } else return;
    event.preventDefault();
  };
  const call = calls.find((one) => one.id === chosen);
  return (
    <section class="panel calls" data-part="calls" data-count={calls.length} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>
        Calls{" "}
        <small>{`${count(calls.length)}${left === 0 ? "" : ` of ${count(calls.length + left)}; the latest are not listed`}`}</small>
      </h2>
      <div
        class="calls-tree"
        role="tree"
        tabIndex={0}
        aria-labelledby={`${id}-title`}
        aria-activedescendant={rows.length > 0 ? `${id}-${at}` : undefined}
        onKeyDown={onKeyDown}
      >
        {rows.length === 0 && <p class="hint">No calls were made.</p>}
        <Rows
          count={rows.length}
          rowHeight={ROW_HEIGHT}
          shown={at}
          render={(index) => {
            const row = rows[index];
            return (
              row && (
                <CallLine
                  id={`${id}-${index}`}
                  row={row}
                  scale={scale}
                  isActive={index === at}
                  isOpen={row.type === "group" && open.has(row.group.key)}
                  place={{ index, of: rows.length }}
                  onClick={() => act(index)}
                />
              )
            );
          }}
        />
      </div>
      <div class="call-chosen" aria-live="polite">
        {call ? (
          <CallDetails key={call.id} execution={execution} call={call} streamBytes={scale.bytes} />
        ) : (
          <p class="hint">Choose a call to see its input and its result.</p>
        )}
      </div>
    </section>
  );
}

function toggled(open: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(open);
  if (!next.delete(key)) next.add(key);
  return next;
}

const PAGE = 10;

function nextRow(key: string, at: number, rows: readonly CallRow[]): number | undefined {
  const last = rows.length - 1;
  const to: Readonly<Record<string, number>> = {
    ArrowDown: at + 1,
    ArrowUp: at - 1,
    PageDown: at + PAGE,
    PageUp: at - PAGE,
    Home: 0,
    End: last,
  };
  const next = Object.hasOwn(to, key) ? to[key] : undefined;
  return next === undefined ? undefined : Math.max(0, Math.min(last, next));
}

interface Scale {
  readonly from: number;
  readonly width: number;
  /** Bytes that the full bar of a stream stands for. */
  readonly bytes: number;
}

interface CallLineProps {
  readonly id: string;
  readonly row: CallRow;
  readonly scale: Scale;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  readonly place: { readonly index: number; readonly of: number };
  readonly onClick: () => void;
}

function CallLine({ id, row, scale, isActive, isOpen, place, onClick }: CallLineProps) {
  const facts = row.type === "group" ? groupFacts(row) : callFacts(row);
  const level = row.type === "call" ? row.level : 1;
  const { items, bytes: streamedBytes } = row.type === "call" ? row.call : { bytes: 0 };
  const streamed = items === undefined ? {} : { "data-items": items, "data-bytes": streamedBytes };
  return (
    <div
      id={id}
      role="treeitem"
      class={`call-line ${isActive ? "active" : ""} ${items === undefined ? "" : "stream"} level-${level}`}
      aria-level={level}
      aria-posinset={place.index + 1}
      aria-setsize={place.of}
      aria-selected={isActive}
      aria-expanded={row.type === "group" ? isOpen : undefined}
      aria-label={visibleText(facts.name)}
      data-call={row.type === "call" ? row.call.id : undefined}
      data-count={row.type === "group" ? row.group.calls.length : undefined}
      data-state={facts.state}
      {...streamed}
      onClick={onClick}
    >
      <span class="call-mark" aria-hidden="true">
        {row.type === "group" ? (isOpen ? "▾" : "▸") : ""}
      </span>
      <span class="call-name">
        <Text text={facts.tool} />
        {facts.times !== "" && <b> {facts.times}</b>}
      </span>
      <span class={`call-state ${facts.state}`}>
        <Text text={facts.word} />
      </span>
      <span class="number">{facts.ms}</span>
      <span class="number">{facts.size}</span>
      <Strip row={row} scale={scale} />
    </div>
  );
}

function groupFacts({ group }: CallRow & { readonly type: "group" }) {
  const { tool, state, detail, calls, ms, bytes: size } = group;
  const mean = ms / Math.max(1, calls.length);
  const word = callText({ state, detail });
  return {
    tool,
    state,
    word,
    times: `× ${count(calls.length)}`,
    ms: `⌀ ${duration(mean)}`,
    size: bytes(size),
    name: `${count(calls.length)} calls of ${tool}, ${word}, ${duration(mean)} on average, ${bytes(size)}`,
  };
}

function callFacts({ call }: CallRow & { readonly type: "call" }) {
  const { id, tool, state, ms, items, bytes: size } = call;
  const word = callText(call);
  const took = ms === undefined ? "" : duration(ms);
  const hasSize = state === "value" || items !== undefined;
  const sizeText = items === undefined ? bytes(size) : streamText({ items, bytes: size }, state === "open");
  return {
    tool,
    state,
    word,
    times: "",
    ms: took,
    size: hasSize ? bytes(size) : "",
    name: `call ${id} of ${tool}, ${items === undefined ? word : stateOf(call)}${took === "" ? "" : `, ${took}`}${hasSize ? `, ${sizeText}` : ""}`,
  };
}

/** The state of a stream without how far it is. */
function stateOf({ state, detail }: CallView): string {
  return callText(state === "value" || detail === undefined ? { state } : { state, detail });
}

const STRIP_WIDTH = 200;
const BINS = 100;

/** Where in the time of the execution a call ran, and below how much its stream has given; of a group, how many ran in each part of it. */
function Strip({ row, scale }: { readonly row: CallRow; readonly scale: Scale }) {
  const place = (at: number) => Math.max(0, Math.min(STRIP_WIDTH, ((at - scale.from) / scale.width) * STRIP_WIDTH));
  return (
    <svg class="strip" viewBox={`0 0 ${STRIP_WIDTH} 12`} preserveAspectRatio="none" aria-hidden="true">
      {row.type === "call" ? (
        <>
          <rect
            class={`bar ${row.call.state}`}
            x={Math.min(place(row.call.at), STRIP_WIDTH - 1)}
            y={row.call.items === undefined ? 2 : 0}
            width={Math.max(1, ((row.call.ms ?? scale.from + scale.width - row.call.at) / scale.width) * STRIP_WIDTH)}
            height={row.call.items === undefined ? 8 : 3}
          />
          {row.call.items !== undefined && (
            <>
              <rect class="bar-ground" x={0} y={5} width={STRIP_WIDTH} height={7} />
              <rect
                class={`bar streamed ${row.call.state}`}
                x={0}
                y={5}
                width={(row.call.bytes / scale.bytes) * STRIP_WIDTH}
                height={7}
              />
            </>
          )}
        </>
      ) : (
        density(row.group.calls, scale).map((share, bin) =>
          share === 0 ? null : (
            <rect
              key={bin}
              class={`bar ${row.group.state}`}
              x={(bin * STRIP_WIDTH) / BINS}
              y={1}
              width={STRIP_WIDTH / BINS}
              height={10}
              opacity={0.2 + 0.8 * share}
            />
          ),
        )
      )}
    </svg>
  );
}

/** For each part of the time, how many of the calls ran in it, as a share of the most. */
function density(calls: readonly CallView[], { from, width }: Scale): readonly number[] {
  const binOf = (at: number) => Math.max(0, Math.min(BINS - 1, Math.floor(((at - from) / width) * BINS)));
  const changes = Array.from({ length: BINS + 1 }, () => 0);
  for (const { at, ms = 0 } of calls) {
    const [begin, end] = [binOf(at), binOf(at + ms) + 1];
    changes[begin] = (changes[begin] ?? 0) + 1;
    changes[end] = (changes[end] ?? 0) - 1;
  }
  let running = 0;
  const bins = changes.slice(0, BINS).map((change) => (running += change));
  const most = Math.max(1, ...bins);
  return bins.map((number) => number / most);
}
