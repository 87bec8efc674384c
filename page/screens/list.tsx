import { useId, useState } from "preact/hooks";
import type { AskedList, Row } from "../data/source.ts";
import { useAsked, useSource } from "../data/use-source.ts";
import { counted, duration, time } from "../format.ts";
import { linkTo } from "../route.ts";
import { Problem } from "../parts/problem.tsx";
import { Rows } from "../parts/rows.tsx";
import { State } from "../parts/state.tsx";
import { Text } from "../text.tsx";
import { visibleText } from "../visible-text.ts";

const ROW_HEIGHT = 60;
/** Between two looks for what is new, in milliseconds. */
const EVERY_MS = 1500;

const STATES = ["running", "waiting", "ended", "unread", "unreadable"] as const;

/** Executions and conversations as they run, the latest first. */
export function List() {
  const source = useSource();
  const id = useId();
  const [filter, setFilter] = useState<AskedList>({ pages: 1 });
  const [tenant, setTenant] = useState("");
  const { value, error } = useAsked(
    (signal) => source.list(filter, signal),
    source.isLive
      ? (again, signal) => {
          const timer = setInterval(() => document.visibilityState === "visible" && again(), EVERY_MS);
          signal.addEventListener("abort", () => clearInterval(timer));
        }
      : undefined,
    ["list", filter],
  );
  const { pages = 1 } = filter;
  const found = value?.executions ?? [];
  const tenants = [...new Set(found.flatMap((row) => row.tenant ?? []))];
  const rows = tenant === "" ? found : found.filter((row) => row.tenant === tenant);
  const set = (change: AskedList) => setFilter({ ...filter, pages: 1, ...change });
  return (
    <main class="list-screen">
      <h1 class="visually-hidden">Executions</h1>
      <form class="filters" role="search" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
        <label>
          State{" "}
          <select
            value={filter.state ?? ""}
            onChange={({ currentTarget }) => set({ state: STATES.find((state) => state === currentTarget.value) })}
          >
            <option value="">all</option>
            {STATES.map((state) => (
              <option key={state}>{state}</option>
            ))}
          </select>
        </label>
        <Field name="Tool" onText={(tool) => set({ tool })} />
        <label>
          Tenant{" "}
          <select value={tenant} onChange={({ currentTarget }) => setTenant(currentTarget.value)}>
            <option value="">all</option>
            {tenants.map((name) => (
              <option key={name} value={name}>
                {visibleText(name)}
              </option>
            ))}
          </select>
        </label>
        <Field name="Text" onText={(text) => set({ text })} />
      </form>
      <p id={id} class="list-count" role="status">
        {value ? counted(rows.length, "execution") : error === undefined && "Loading …"}
        {value?.hasMore && (
          <button type="button" onClick={() => set({ pages: pages + 1 })}>
            Older ones
          </button>
        )}
      </p>
      {error !== undefined && <Problem error={error} />}
      <div class="list" role="list" aria-describedby={id}>
        <Rows
          count={rows.length}
          rowHeight={ROW_HEIGHT}
          render={(index) => {
            const row = rows[index];
            return row && <Line row={row} />;
          }}
        />
      </div>
    </main>
  );
}

function Field({ name, onText }: { readonly name: string; readonly onText: (text: string) => void }) {
  return (
    <label>
      {name} <input type="search" size={12} onInput={({ currentTarget }) => onText(currentTarget.value.trim())} />
    </label>
  );
}

function Line({ row }: { readonly row: Row }) {
  const { execution, kind, state, tenant, startedAt, title, by, waitsFor, outcome, ms } = row;
  return (
    <div role="listitem" data-execution={execution} data-state={state}>
      <a class="list-row" href={linkTo("execution", execution)}>
        <State state={state} driven={row.driven} outcome={outcome} />
        <span class="list-title">
          <Text text={title === "" ? kind : title} />
        </span>
        <span class="list-facts">
          <Text
            text={[
              kind,
              ...[by, tenant].filter((part) => part !== undefined && part !== ""),
              time(startedAt),
              ...(ms === undefined ? [] : [duration(ms)]),
              ...(waitsFor.length === 0 ? [] : [`waits for ${waitsFor.slice(0, 3).join(", ")}`]),
              visibleText(execution),
            ].join(" · ")}
          />
        </span>
      </a>
    </div>
  );
}
