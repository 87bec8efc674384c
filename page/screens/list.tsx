import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { AskedList, Row } from "../data/source.ts";
import { useList } from "../data/use-source.ts";
import { counted, duration, time } from "../format.ts";
import { linkTo } from "../route.ts";
import { useNarrow } from "../parts/narrow.ts";
import { Problem } from "../parts/problem.tsx";
import { Rows } from "../parts/rows.tsx";
import { State } from "../parts/state.tsx";
import { Text } from "../text.tsx";
import { visibleText } from "../visible-text.ts";

/** Heights of a row, in pixels: on a narrow screen its parts stand below each other. */
const ROW_HEIGHT = 62;
const NARROW_HEIGHT = 92;
/** Time from the last letter to the question, in milliseconds. */
const TYPING_MS = 400;

const STATES = ["waiting", "running", "ended", "unread", "unreadable"] as const;

const NOTHING: Typed = { tool: "", text: "" };
/** The filter of the list, for who comes back to it. */
let lastFilter = NOTHING;

interface Typed extends Pick<AskedList, "state"> {
  readonly tool: string;
  readonly text: string;
}

/** Executions and conversations as they run: those that wait first, then the latest. */
export function List() {
  const id = useId();
  const [typed, setTyped] = useState<Typed>(lastFilter);
  const [filter, setFilter] = useState<Typed>(lastFilter);
  const [tenant, setTenant] = useState("");
  const { rows: all = [], hasOlder = false, error, isStale, addOlder } = useList(filter);
  const rowHeight = useNarrow() ? NARROW_HEIGHT : ROW_HEIGHT;
  const ask = (asked: Typed) => {
    lastFilter = asked;
    setTyped(asked);
    setFilter(asked);
  };
  // The server is not asked at each letter.
  useEffect(() => {
    if (JSON.stringify(typed) === JSON.stringify(filter)) return;
    const timer = setTimeout(() => ask(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, filter]);
  const tenants = [...new Set(all.flatMap((row) => row.tenant ?? []))];
  const rows = tenant === "" ? all : all.filter((row) => row.tenant === tenant);
  const longest = longestOf(rows);
  const clear = () => {
    setTenant("");
    ask(NOTHING);
  };
  return (
    <main class="list-screen">
      <h1 class="visually-hidden">Executions</h1>
      <Filters typed={typed} onTyped={setTyped} onAsked={ask} tenants={tenants} tenant={tenant} onTenant={setTenant} />
      <p id={id} class="list-count" role="status">
        {isStale ? "Looking …" : countText(rows, hasOlder)}
      </p>
      {error !== undefined && <Problem error={error} />}
      {!isStale && error === undefined && rows.length === 0 && <Nothing filter={filter} onClear={clear} />}
      <div class="list" role="list" aria-describedby={id} aria-busy={isStale}>
        <Rows
          count={rows.length + (hasOlder ? 1 : 0)}
          rowHeight={rowHeight}
          render={(index) => {
            const row = rows[index];
            if (row) return <Line row={row} longest={longest.get(row.kind) ?? 1} />;
            return (
              <div class="list-older">
                <button type="button" onClick={addOlder}>
                  Older ones
                </button>
              </div>
            );
          }}
        />
      </div>
    </main>
  );
}

interface FiltersProps {
  readonly typed: Typed;
  readonly onTyped: (typed: Typed) => void;
  /** The filter is asked for at once. */
  readonly onAsked: (typed: Typed) => void;
  readonly tenants: readonly string[];
  readonly tenant: string;
  readonly onTenant: (tenant: string) => void;
}

function Filters({ typed, onTyped, onAsked, tenants, tenant, onTenant }: FiltersProps) {
  const { state, ...others } = typed;
  const onSubmit = (event: Event) => {
    event.preventDefault();
    onAsked(typed);
  };
  return (
    <form class="filters" role="search" aria-label="Filter" onSubmit={onSubmit}>
      <Field name="Text" typed={typed} field="text" maxLength={200} onTyped={onTyped} />
      <Field name="Tool" typed={typed} field="tool" maxLength={256} onTyped={onTyped} />
      <label>
        State
        <select
          data-filter="state"
          value={state ?? ""}
          onChange={({ currentTarget }) => {
            const chosen = STATES.find((one) => one === currentTarget.value);
            onAsked({ ...others, ...(chosen && { state: chosen }) });
          }}
        >
          <option value="">all</option>
          {STATES.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      {tenants.length > 1 && (
        <label>
          Tenant
          <select data-filter="tenant" value={tenant} onChange={({ currentTarget }) => onTenant(currentTarget.value)}>
            <option value="">all</option>
            {tenants.map((name) => (
              <option key={name} value={name}>
                {visibleText(name)}
              </option>
            ))}
          </select>
        </label>
      )}
    </form>
  );
}

function countText(rows: readonly Row[], hasOlder: boolean): string {
  const waiting = rows.filter(({ state }) => state === "waiting").length;
  const what = `${counted(rows.length, "execution")}${hasOlder ? " so far" : ""}`;
  return waiting === 0 ? what : `${what}, ${waiting === rows.length ? "all" : waiting} of them waiting`;
}

function Nothing({ filter, onClear }: { readonly filter: Typed; readonly onClear: () => void }) {
  if (filter.tool + filter.text + (filter.state ?? "") !== "")
    return (
      <p class="nothing">
        No execution fits.{" "}
        <button type="button" onClick={onClear}>
          Show all
        </button>
      </p>
    );
  return <p class="nothing">Nothing has run yet. Programs and conversations appear here as they begin.</p>;
}

interface FieldProps {
  readonly name: string;
  readonly typed: Typed;
  readonly field: "tool" | "text";
  readonly maxLength: number;
  readonly onTyped: (typed: Typed) => void;
}

function Field({ name, typed, field, maxLength, onTyped }: FieldProps) {
  const [text, setText] = useState(typed[field]);
  const asked = useRef(typed[field]);
  // Cleared from outside.
  if (asked.current !== typed[field] && text.trim() !== typed[field]) setText(typed[field]);
  asked.current = typed[field];
  return (
    <label>
      {name}
      <input
        type="search"
        data-filter={field}
        size={14}
        maxLength={maxLength}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          onTyped({ ...typed, [field]: currentTarget.value.trim() });
        }}
      />
    </label>
  );
}

/** The longest time of each kind, in milliseconds: programs are compared with programs. */
function longestOf(rows: readonly Row[]): ReadonlyMap<string, number> {
  const longest = new Map<string, number>();
  for (const row of rows) longest.set(row.kind, Math.max(longest.get(row.kind) ?? 1, tookMs(row) ?? 0));
  return longest;
}

/** How long it took, or runs already; undefined for what waits: that is the time of people. */
function tookMs({ state, ms, driven, startedAt }: Row): number | undefined {
  if (ms !== undefined) return ms;
  return state === "running" && driven !== false ? Math.max(0, Date.now() - startedAt) : undefined;
}

const BAR_WIDTH = 100;

function Line({ row, longest }: { readonly row: Row; readonly longest: number }) {
  const { execution, kind, state, tenant, startedAt, title, by, waitsFor, outcome } = row;
  const took = tookMs(row);
  const tools = `${waitsFor.slice(0, 3).join(", ")}${waitsFor.length > 3 ? " …" : ""}`;
  const facts = [
    ...(state === "waiting" ? [tools === "" ? "waits for the user" : `waits for ${tools}`] : []),
    kind === "call" ? "call of a host" : kind,
    ...[by, tenant === "default" ? undefined : tenant].filter((part) => part !== undefined && part !== ""),
    startText(startedAt),
    execution,
  ];
  return (
    <div role="listitem" data-execution={execution} data-state={state}>
      <a class={`list-row ${state}`} href={linkTo("execution", execution)}>
        <State state={state} driven={row.driven} outcome={outcome} />{" "}
        <span class="list-title">
          <Text text={title === "" ? kind : title} />
        </span>{" "}
        {took !== undefined && (
          <>
            <span class="list-took">
              <svg class="bar-line" viewBox={`0 0 ${BAR_WIDTH} 10`} preserveAspectRatio="none" aria-hidden="true">
                <rect
                  class={`bar ${state === "running" ? "open" : barKind(outcome)}`}
                  width={Math.max(1, (took / longest) * BAR_WIDTH)}
                  height={10}
                />
              </svg>
              <span class="number">{duration(took)}</span>
            </span>{" "}
          </>
        )}
        <span class="list-facts">
          <Text text={facts.join(" · ")} />
        </span>
        {state === "waiting" && <span class="list-act">{waitsFor.length > 0 ? "Decide" : "Look"}</span>}
      </a>
    </div>
  );
}

function barKind(outcome: string | undefined): string {
  return outcome === "completed" || outcome === "answered" ? "value" : "failed";
}

/** When it began: today without the date. */
function startText(at: number): string {
  const date = new Date(at);
  return date.toDateString() === new Date().toDateString()
    ? date.toLocaleTimeString(undefined, { timeStyle: "medium" })
    : time(at);
}
