import { useMemo } from "preact/hooks";
import type { CallView, ProgramView } from "../../src/views/view.ts";
import { bytes, count, counted, duration } from "../format.ts";
import { highlight, type Token } from "../../src/views/highlight.ts";
import { Text } from "../text.tsx";
import { Rows } from "./rows.tsx";
import { Section } from "./section.tsx";

const LINE_HEIGHT = 20;
/** Characters of a line that are coloured; longer ones are shown as they are. */
const COLOURED = 2000;

export interface ProgramProps {
  readonly view: Pick<ProgramView, "source" | "language" | "places" | "outcome">;
  readonly calls: readonly CallView[];
  /** More calls come: the place of their costs is kept. */
  readonly isGrowing: boolean;
}

/** The program, with what its calls cost beside the line that made them, and its fault under the line that threw. */
export function Program({ view, calls, isGrowing }: ProgramProps) {
  const { source, language, places, outcome } = view;
  const lines = useMemo(() => highlight(source.replaceAll("\r\n", "\n"), language), [source, language]);
  const costs = useMemo(() => costsOf(places, calls), [places, calls]);
  const slowest = Math.max(1, ...[...costs.values()].map(({ ms }) => ms));
  const fault = outcome?.fault;
  return (
    <Section class="program" part="program" title="Program" note={language}>
      <div
        class={`source ${costs.size === 0 && !isGrowing ? "bare" : ""}`}
        tabIndex={0}
        role="region"
        aria-label="Source of the program, with its calls"
        style={{ height: `${heightOf(lines.length)}px` }}
      >
        <Rows
          count={lines.length}
          rowHeight={LINE_HEIGHT}
          {...(fault?.line === undefined ? {} : { shown: Math.min(lines.length, fault.line + 2) - 1 })}
          render={(index) => (
            <SourceLine
              number={index + 1}
              tokens={lines[index] ?? []}
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
  calls: number;
  ms: number;
  bytes: number;
  failed: number;
  /** Number of those that have no answer yet. */
  open: number;
  /** Other lines write the tool too, so the calls may be theirs. */
  isShared: boolean;
}

function costsOf(places: ProgramView["places"], calls: readonly CallView[]): ReadonlyMap<number, Cost> {
  const linesOf = new Map(places.map(({ tool, lines }) => [tool, lines]));
  const costs = new Map<number, Cost>();
  for (const { tool, ms = 0, bytes: size, state } of calls) {
    const lines = linesOf.get(tool) ?? [];
    for (const line of lines) {
      const cost = costs.get(line) ?? { calls: 0, ms: 0, bytes: 0, failed: 0, open: 0, isShared: false };
      cost.calls += 1;
      cost.ms += ms;
      cost.open += state === "open" || state === "waiting" ? 1 : 0;
      cost.bytes += size;
      cost.failed += state === "failed" || state === "refused" ? 1 : 0;
      cost.isShared ||= lines.length > 1;
      costs.set(line, cost);
    }
  }
  return costs;
}

interface SourceLineProps {
  readonly number: number;
  readonly tokens: readonly Token[];
  readonly cost: Cost | undefined;
  /** Milliseconds that the calls of the slowest line took. */
  readonly slowest: number;
  readonly fault: string | undefined;
}

function SourceLine({ number, tokens, cost, slowest, fault }: SourceLineProps) {
  const length = tokens.reduce((sum, { text }) => sum + text.length, 0);
  return (
    <div class={`source-line ${fault === undefined ? "" : "faulty"}`} data-line={number}>
      <span class="line-number">{number}</span>
      <span class="gutter" title={cost && costTitle(cost)}>
        {cost && (
          <>
            <span class="visually-hidden">{costTitle(cost)}: </span>
            <span class="heat" aria-hidden="true" style={{ width: `${(cost.ms / slowest) * 100}%` }} />
            <span class="cost" aria-hidden="true">
              <b>{`${cost.isShared ? "≤ " : ""}${count(cost.calls)}×`}</b>
              <span>{meanText(cost)}</span>
              <span>{bytes(cost.bytes)}</span>
            </span>
          </>
        )}
      </span>
      <code>
        {length > COLOURED ? (
          <Text text={tokens.map(({ text }) => text).join("")} />
        ) : (
          tokens.map(({ kind, text }, index) =>
            kind === "" ? (
              <Text key={index} text={text} />
            ) : (
              <span key={index} class={`token-${kind}`}>
                <Text text={text} />
              </span>
            ),
          )
        )}
      </code>
    </div>
  );
}

function meanText({ calls, open, ms }: Cost): string {
  return open === calls ? "open" : duration(ms / (calls - open));
}

function costTitle(cost: Cost): string {
  const { calls, bytes: size, failed, isShared } = cost;
  const where = isShared ? " made by this line or another one that writes the same tool" : " made by this line";
  const wrong = failed === 0 ? "" : `, ${count(failed)} without a value`;
  return `${counted(calls, "call")}${where}, ${cost.open === calls ? "open" : `${meanText(cost)} on average`}, ${bytes(size)} returned${wrong}`;
}
