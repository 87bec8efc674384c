import { useMemo } from "preact/hooks";
import type { CallState, CallView, ProgramView } from "../../src/serve/views/view.ts";
import { bytes, count, countText, duration, tookText } from "../format.ts";
import { type Took, tookOf } from "../../src/serve/views/timeline.ts";
import { callText } from "../../src/serve/views/words.ts";
import { Text } from "../text.tsx";
import { Rows } from "./rows.tsx";
import { Section } from "./section.tsx";

const LINE_HEIGHT = 20;

export interface ProgramProps {
  readonly view: Pick<ProgramView, "source" | "language" | "places" | "outcome">;
  readonly calls: readonly CallView[];
  /** More calls come: the place of their costs is kept. */
  readonly isGrowing: boolean;
}

/** The program, with what its calls cost beside the line that made them, and its fault under the line that threw. */
export function Program({ view, calls, isGrowing }: ProgramProps) {
  const { source, language, places, outcome } = view;
  const lines = useMemo(() => source.replaceAll("\r\n", "\n").split("\n"), [source]);
  const costs = useMemo(() => costsOf(places, calls), [places, calls]);
  const slowest = Math.max(0, ...[...costs.values()].map(({ took }) => took?.inAll ?? 0)) || 1;
  const fault = outcome?.fault;
  return (
    <Section class="program" part="program" title="Program" note={language}>
      <div
        class={`source ${costs.size === 0 && !isGrowing ? "bare" : ""}`}
        style={{ height: `${heightOf(lines.length)}px` }}
      >
        <Rows
          box={{ tabIndex: 0, role: "region", "aria-label": "Source of the program, with its calls" }}
          count={lines.length}
          rowHeight={LINE_HEIGHT}
          {...(fault?.line === undefined ? {} : { shown: Math.min(lines.length, fault.line + 2) - 1 })}
          render={(index) => (
            <SourceLine
              number={index + 1}
              text={lines[index] ?? ""}
              cost={costs.get(index + 1)}
              slowest={slowest}
              fault={fault?.line === index + 1 ? `${fault.name}: ${fault.message}` : undefined}
            />
          )}
        />
      </div>
      {fault && (
        <p class="fault" data-fault-line={fault.line}>
          {fault.line === undefined ? "" : `Line ${fault.line}: `}
          <b>
            <Text text={fault.name} />
          </b>{" "}
          <Text text={fault.message} />
        </p>
      )}
    </Section>
  );
}

/** The source does not change, so neither does the height. */
function heightOf(lines: number): number {
  return LINE_HEIGHT * Math.min(22, lines) + SCROLL_BAR;
}

const SCROLL_BAR = 18;

interface Cost {
  readonly calls: number;
  readonly bytes: number;
  readonly failed: number;
  /** Missing while none has ended. */
  readonly took: Took | undefined;
  /** How its first call stands. */
  readonly state: CallState;
  /** Other lines write a tool of this line too, so the calls may be theirs. */
  readonly isShared: boolean;
}

/** What the calls of each line cost. Lines that write the same tools have the same calls, which are looked at once. */
function costsOf(places: ProgramView["places"], calls: readonly CallView[]): ReadonlyMap<number, Cost> {
  const byTool = Map.groupBy(calls, ({ tool }) => tool);
  const byLine = new Map<number, ProgramView["places"]>();
  for (const place of places)
    for (const line of byTool.has(place.tool) ? place.lines : [])
      byLine.set(line, [...(byLine.get(line) ?? []), place]);
  const known = new Map<string, Cost>();
  const costs = new Map<number, Cost>();
  for (const [line, written] of byLine) {
    const key = JSON.stringify(written.map(({ tool }) => tool));
    const cost =
      known.get(key) ??
      costOf(
        written.flatMap(({ tool }) => byTool.get(tool) ?? []),
        written.some(({ lines }) => lines.length > 1),
      );
    known.set(key, cost);
    costs.set(line, cost);
  }
  return costs;
}

function costOf(calls: readonly CallView[], isShared: boolean): Cost {
  return {
    calls: calls.length,
    bytes: calls.reduce((sum, { bytes: size }) => sum + size, 0),
    failed: calls.filter(({ state }) => state === "failed" || state === "refused").length,
    took: tookOf(calls),
    state: calls[0]?.state ?? "open",
    isShared,
  };
}

interface SourceLineProps {
  readonly number: number;
  readonly text: string;
  readonly cost: Cost | undefined;
  /** Milliseconds that the calls of the slowest line took. */
  readonly slowest: number;
  readonly fault: string | undefined;
}

function SourceLine({ number, text, cost, slowest, fault }: SourceLineProps) {
  return (
    <div class={`source-line ${fault === undefined ? "" : "faulty"}`} data-line={number}>
      <span class="line-number">{number}</span>
      <span class="gutter" title={cost && costTitle(cost)}>
        {cost && (
          <>
            <span class="visually-hidden">{costTitle(cost)}: </span>
            <span class="heat" aria-hidden="true" style={{ width: `${((cost.took?.inAll ?? 0) / slowest) * 100}%` }} />
            <span class="cost" aria-hidden="true">
              <b>{`${cost.isShared ? "≤ " : ""}${count(cost.calls)}×`}</b>
              <span>{cost.took ? duration(cost.took.inAll) : callText({ state: cost.state })}</span>
              <span>{bytes(cost.bytes)}</span>
            </span>
          </>
        )}
      </span>
      <code>
        <Text text={text} />
      </code>
    </div>
  );
}

function costTitle({ calls, bytes: size, failed, took, state, isShared }: Cost): string {
  const where = isShared ? " made by this line or another one that writes the same tool" : " made by this line";
  const wrong = failed === 0 ? "" : `, ${count(failed)} without a value`;
  return `${countText(calls, "call")}${where}, ${took ? tookText(took) : callText({ state })}, ${bytes(size)} returned${wrong}`;
}
