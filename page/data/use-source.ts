import { createContext } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { ExecutionView } from "../../src/serve/views/view.ts";
import { FollowedList, type ListState } from "./followed-list.ts";
import { pause } from "./follow-view.ts";
import type { Asked, AskedList, Source } from "./source.ts";

export const SourceContext = createContext<Source | undefined>(undefined);

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error("No source.");
  return source;
}

/** The view of an execution, as it changes. */
export function useExecution(execution: string): Asked<ExecutionView> {
  const source = useSource();
  const [asked, setAsked] = useState<Asked<ExecutionView>>(() => {
    const value = source.known(execution);
    return value ? { value } : {};
  });
  useEffect(() => {
    const over = new AbortController();
    source.watch(execution, setAsked, over.signal);
    return () => over.abort();
  }, [source, execution]);
  return asked;
}

/** Between two looks for what is new, in milliseconds, and as a multiple of what the last one took. */
const EVERY_MS = 2000;
const EVERY_SHARE = 5;

export interface ShownList extends Partial<ListState> {
  /** The rows are those of an earlier filter. */
  readonly isStale: boolean;
  readonly addOlder: () => void;
}

/** The list that was shown last, of each source: who comes back from an execution finds it as it was. */
const lastLists = new WeakMap<Source, { readonly key: string; readonly list: FollowedList }>();

function listOf(source: Source, filter: AskedList): FollowedList {
  const key = JSON.stringify(filter);
  const last = lastLists.get(source);
  if (last?.key === key) return last.list;
  const list = new FollowedList(source, filter);
  lastLists.set(source, { key, list });
  return list;
}

/** The list under a filter, as it goes on. Until the first answer it is the list of the filter before. */
export function useList(filter: AskedList): ShownList {
  const source = useSource();
  const list = useMemo(() => listOf(source, filter), [source, JSON.stringify(filter)]);
  const [shown, setShown] = useState<Shown>({ list, ...(list.state.rows.length > 0 && list.state) });
  const signal = useRef(new AbortController().signal);
  const show = (state: ListState) => {
    if (state.error === undefined) setShown({ list, ...state });
    // Rows of another filter are not those of a filter that failed.
    else setShown((last) => ({ ...(last.list === list && last), list, error: state.error }));
  };
  useEffect(() => {
    const over = new AbortController();
    signal.current = over.signal;
    void refreshing(list, over.signal, show);
    return () => over.abort();
  }, [list]);
  const addOlder = async () => {
    const { current } = signal;
    const state = await list.addOlder(current);
    if (!current.aborted) show(state);
  };
  const { list: of, ...state } = shown;
  return { ...state, isStale: of !== list, addOlder: () => void addOlder() };
}

interface Shown extends Partial<ListState> {
  readonly list: FollowedList;
}

async function refreshing(list: FollowedList, signal: AbortSignal, onState: (state: ListState) => void): Promise<void> {
  while (!signal.aborted) {
    const began = performance.now();
    const state = document.visibilityState === "visible" ? await list.refresh(signal) : undefined;
    if (signal.aborted) return;
    if (state) onState(state);
    await pause(Math.max(EVERY_MS, (performance.now() - began) * EVERY_SHARE), signal);
  }
}
