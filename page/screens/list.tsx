import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { AskedList, Row } from "../data/source.ts";
import { useList } from "../data/use-source.ts";
import { countText, duration, timeToday } from "../format.ts";
import { needsText } from "../../src/serve/views/words.ts";
import { linkTo } from "../route.ts";
import { useNarrow } from "../parts/narrow.ts";
import { Main } from "../parts/main.tsx";
import { needsKey, Problem } from "../parts/problem.tsx";
import { Rows } from "../parts/rows.tsx";
import { State } from "../parts/state.tsx";
import { Text } from "../text.tsx";
import { visibleText } from "../visible-text.ts";

const TAB = "Executions · Portcullis";

/** Heights of a row, in pixels: on a narrow screen its parts stand below each other. */
const ROW_HEIGHT = 62;
const NARROW_HEIGHT = 92;
/** Time from the last letter to the question, in milliseconds. */
const TYPING_MS = 400;

/** The states that can be asked for, in the words of the rows that have them. */
const STATES = [
  ["waiting", "waiting"],
  ["running", "running, or without a driver"],
  ["ended", "ended"],
  ["unread", "not read, because it is large"],
  ["unreadable", "unreadable"],
] as const;

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
  const { rows: known, hasOlder = false, error, isStale: isOfBefore, addOlder } = useList(filter);
  const all = known ?? [];
  const isStale = isOfBefore || (known === undefined && error === undefined);
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
  if (needsKey(error))
    return (
      <Main tab={TAB}>
        <Problem error={error} />
      </Main>
    );
  return (
    <Main class="list-screen" tab={TAB}>
      <h1 class="visually-hidden">Executions</h1>
      <Filters typed={typed} onTyped={setTyped} onAsked={ask} tenants={tenants} tenant={tenant} onTenant={setTenant} />
      <p id={id} class="list-count" role="status">
        {isStale ? "Looking …" : known && rowsText(rows, hasOlder)}
      </p>
      {error !== undefined && <Problem error={error} />}
      {!isStale && error === undefined && rows.length === 0 && (
        <Nothing filter={filter} tenant={tenant} hasOlder={hasOlder} onClear={clear} />
      )}
      <div class="list" role="list" aria-describedby={id} aria-busy={isStale}>
        <Rows
          count={rows.length + (hasOlder ? 1 : 0)}
          rowHeight={rowHeight}
          render={(index) => {
            const row = rows[index];
            if (row) return <Line row={row} longest={longest} />;
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
    </Main>
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
      <Field name="Task, program or id" typed={typed} field="text" maxLength={200} onTyped={onTyped} />
      <Field name="Tool" typed={typed} field="tool" maxLength={256} onTyped={onTyped} />
      <label>
        State
        <select
          data-filter="state"
          value={state ?? ""}
          onChange={({ currentTarget }) => {
            const [chosen] = STATES.find(([one]) => one === currentTarget.value) ?? [];
            onAsked({ ...others, ...(chosen && { state: chosen }) });
          }}
        >
          <option value="">all</option>
          {STATES.map(([one, words]) => (
            <option key={one} value={one}>
              {words}
            </option>
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

function rowsText(rows: readonly Row[], hasOlder: boolean): string {
  const waiting = rows.filter(({ state }) => state === "waiting").length;
  const what = `${countText(rows.length, "execution")}${hasOlder ? " so far" : ""}`;
  return waiting === 0 ? what : `${what}, ${waiting === rows.length ? "all" : waiting} of them waiting`;
}

interface NothingProps {
  readonly filter: Typed;
  readonly tenant: string;
  readonly hasOlder: boolean;
  readonly onClear: () => void;
}

function Nothing({ filter: { tool, text, state }, tenant, hasOlder, onClear }: NothingProps) {
  const asked = [
    ...(state === undefined ? [] : [`is ${STATES.find(([one]) => one === state)?.[1] ?? state}`]),
    ...(text === "" ? [] : [`has “${text}” in its task, program or id`]),
    ...(tool === "" ? [] : [`has a tool named like “${tool}”`]),
    ...(tenant === "" ? [] : [`is of tenant ${tenant}`]),
  ];
  if (asked.length > 0)
    return (
      <p class="nothing">
        <Text text={`No execution ${asked.join(" and ")}${hasOlder ? ", of those that were looked at so far" : ""}.`} />{" "}
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

/** The longest time, in milliseconds. */
function longestOf(rows: readonly Row[]): number {
  return rows.reduce((longest, row) => Math.max(longest, tookMs(row) ?? 0), 1);
}

/** How long it took, or runs already; undefined for what waits: that is the time of people. */
function tookMs({ state, ms, driven, startedAt }: Row): number | undefined {
  if (ms !== undefined) return ms;
  return state === "running" && driven !== false ? Math.max(0, Date.now() - startedAt) : undefined;
}

const BAR_WIDTH = 100;

/** What a row is, by itself or begun by a call of another execution. */
const WHAT = {
  own: { program: "program", conversation: "conversation", call: "call of a host" },
  below: { program: "program of a conversation", conversation: "conversation of an agent", call: "call of a host" },
} as const;

function Line({ row, longest }: { readonly row: Row; readonly longest: number }) {
  const { execution, kind, state, tenant, startedAt, title, by, waitsFor, needs, outcome, parent } = row;
  const took = tookMs(row);
  const tools = `${waitsFor.slice(0, 3).join(", ")}${waitsFor.length > 3 ? " …" : ""}`;
  const facts = [
    ...(state === "waiting" ? [tools === "" ? "waits for the user" : `waits for ${tools}`] : []),
    ...(needs ? [needsText(needs)] : []),
    WHAT[parent === undefined ? "own" : "below"][kind],
    ...[by, tenant === "default" ? undefined : tenant].filter((part) => part !== undefined && part !== ""),
    timeToday(startedAt),
    execution,
  ];
  return (
    <div role="listitem" data-execution={execution} data-state={state}>
      <a class={`list-row ${state}`} href={linkTo("execution", execution)}>
        <State state={state} driven={row.driven} needs={needs} outcome={outcome} />{" "}
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
