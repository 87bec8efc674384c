import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CallView } from "../../src/serve/views/view.ts";
import { count } from "../format.ts";
import { useNarrow } from "../parts/narrow.ts";
import { Rows } from "../parts/rows.tsx";
import { Section } from "../parts/section.tsx";
import { Axis } from "./axis.tsx";
import { CallDetails } from "./call-details.tsx";
import { type CallRow, callRows, streamScale } from "../../src/serve/views/call-groups.ts";
import { CallLine } from "./call-line.tsx";
import { ticksOf } from "../../src/serve/views/timeline.ts";

export interface CallsProps {
  readonly execution: string;
  readonly calls: readonly CallView[];
  /** Number of calls that are not among `calls`. */
  readonly left?: number | undefined;
  /** Milliseconds since 1970. */
  readonly from: number;
  readonly until: number;
  /** Number of rows whose place is kept if there are fewer. Without any, and without calls, nothing is shown. */
  readonly kept: number;
}

const ROW_HEIGHT = 30;
const NARROW_ROW_HEIGHT = 50;
/** Rows that are in sight at once. */
const ROWS = 14;
/** Pixels that a time on the axis takes. */
const TICK_WIDTH = 64;

/** The calls over time. Equal calls are one row, which is opened on demand. The chosen call is shown whole beside them. */
export function Calls({ execution, calls, left = 0, from, until, kept }: CallsProps) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState(0);
  const [chosen, setChosen] = useState<string>();
  const [width, setWidth] = useState(500);
  const isNarrow = useNarrow();
  const rows = useMemo(() => callRows(calls, open), [calls, open]);
  const scale = useMemo(
    () => ({
      from,
      until,
      ticks: ticksOf({ from, until }, Math.max(2, Math.floor(width / TICK_WIDTH))),
      bytes: streamScale(calls),
    }),
    [from, until, calls, width],
  );
  const at = Math.min(active, rows.length - 1);
  const act = (index: number) => {
    const row = rows[index];
    setActive(index);
    if (row?.type === "call") setChosen(row.call.id === chosen ? undefined : row.call.id);
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
  const rowHeight = isNarrow ? NARROW_ROW_HEIGHT : ROW_HEIGHT;
  const height = rowHeight * Math.min(ROWS, Math.max(rows.length, isNarrow ? Math.ceil(kept / 2) : kept));
  const call = calls.find((one) => one.id === chosen);
  if (calls.length === 0 && kept === 0) return null;
  return (
    <Section
      class="calls"
      part="calls"
      count={calls.length}
      title="Calls over time"
      note={`${count(calls.length)}${left === 0 ? "" : ` of ${count(calls.length + left)}; the latest are not listed`}`}
    >
      {(id) => (
        <>
          <div class={`calls-body ${call ? "chosen" : ""}`}>
            <div class={`timeline ${rows.length > ROWS ? "scrolls" : ""}`}>
              <Axis ticks={scale.ticks} width={width} onWidth={setWidth} />
              <div class="calls-tree" style={{ height: `${height}px` }}>
                {rows.length === 0 && <p class="empty">No call yet.</p>}
                <Rows
                  box={{
                    role: "tree",
                    tabIndex: 0,
                    "aria-labelledby": id,
                    "aria-activedescendant": rows.length > 0 ? `${id}-${at}` : undefined,
                    onKeyDown,
                  }}
                  count={rows.length}
                  rowHeight={rowHeight}
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
                          isChosen={row.type === "call" && row.call.id === call?.id}
                          isOpen={row.type === "group" && open.has(row.group.key)}
                          place={{ index, of: rows.length }}
                          onClick={() => act(index)}
                        />
                      )
                    );
                  }}
                />
              </div>
            </div>
            <Chosen execution={execution} call={call} streamBytes={scale.bytes} />
          </div>
        </>
      )}
    </Section>
  );
}

interface ChosenProps {
  readonly execution: string;
  readonly call: CallView | undefined;
  readonly streamBytes: number;
}

/** The chosen call. On a narrow screen it is below the calls, and comes into sight. */
function Chosen({ execution, call, streamBytes }: ChosenProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (call) box.current?.scrollIntoView({ block: "nearest" });
  }, [call?.id]);
  return (
    <div aria-live="polite">
      {call && (
        <div class="call-chosen" ref={box}>
          <CallDetails key={call.id} execution={execution} call={call} streamBytes={streamBytes} />
        </div>
      )}
    </div>
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
