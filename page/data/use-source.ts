import { createContext } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CallView, ExecutionView } from "../../src/views/view.ts";
import type { StreamNews } from "./follow-events.ts";
import type { Source } from "./source.ts";

export const SourceContext = createContext<Source | undefined>(undefined);

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error("No source.");
  return source;
}

/**
 * Time after which a view is asked for again if there is nothing but news of streams, in milliseconds, and as a multiple of
 * what the last view took. Events leave out the last batches before a pause.
 */
const STREAMING_MS = 1000;
const STREAMING_SHARE = 20;

/** What was asked for: the last that came, and the last error. */
export interface Asked<Value> {
  readonly value?: Value;
  readonly error?: unknown;
}

/** Shortest time between two requests, in milliseconds. A request that took long is repeated less often. */
const OFTEN_MS = 300;
const SHARE = 3;

/**
 * Asks now, and again whenever `listen` says so, one request at a time. `listen` is given what to call, and a signal that
 * aborts with the component.
 */
export function useAsked<Value>(
  ask: (signal: AbortSignal) => Promise<Value>,
  listen: ((again: () => void, signal: AbortSignal) => void) | undefined,
  keys: readonly unknown[],
): Asked<Value> & { readonly again: () => void } {
  const [asked, setAsked] = useState<Asked<Value> & { readonly keys?: string }>({});
  const key = JSON.stringify(keys);
  const [again, setAgain] = useState<() => void>(() => () => {});
  useEffect(() => {
    const over = new AbortController();
    const { signal } = over;
    let isAsking = false;
    let isStale = false;
    const run = async () => {
      isStale = true;
      if (isAsking) return;
      isAsking = true;
      while (isStale && !signal.aborted) {
        isStale = false;
        const began = performance.now();
        await ask(signal).then(
          (value) => !signal.aborted && setAsked({ value, keys: key }),
          (error: unknown) => !signal.aborted && setAsked((last) => ({ ...last, error, keys: key })),
        );
        const took = performance.now() - began;
        await new Promise((resolve) => setTimeout(resolve, Math.max(OFTEN_MS, took * SHARE)));
      }
      isAsking = false;
    };
    const start = () => void run();
    setAgain(() => start);
    start();
    listen?.(start, signal);
    return () => over.abort();
  }, [key]);
  return { ...(asked.keys === key ? asked : {}), again };
}

/** The view of an execution. How far its streams are is read from events: to make a view, the server reads all of their items. */
export function useExecution(execution: string): Asked<ExecutionView> & { readonly again: () => void } {
  const source = useSource();
  const took = useRef(0);
  const [news, setNews] = useState<ReadonlyMap<string, StreamNews>>(new Map());
  const listen = (again: () => void, signal: AbortSignal) => {
    let later: number | undefined;
    signal.addEventListener("abort", () => clearTimeout(later));
    const askAgain = () => {
      clearTimeout(later);
      later = undefined;
      again();
    };
    const onEvent = (one?: StreamNews) => {
      if (!one) return askAgain();
      setNews((all) => new Map(all).set(one.callId, one));
      later ??= setTimeout(askAgain, Math.max(STREAMING_MS, took.current * STREAMING_SHARE));
    };
    source.watch?.(execution, onEvent, signal);
  };
  const ask = async (signal: AbortSignal) => {
    const began = performance.now();
    const view = await source.view(execution, signal);
    took.current = performance.now() - began;
    return view;
  };
  const asked = useAsked(ask, source.watch && listen, ["view", execution]);
  const { value: view } = asked;
  const value = useMemo(() => view && withNews(view, news), [view, news]);
  return { ...asked, ...(value && { value }) };
}

/** The view with what is known since of its open streams. */
function withNews<View extends ExecutionView>(view: View, news: ReadonlyMap<string, StreamNews>): View {
  let { lastAt } = view;
  const calls = view.calls.map((call): CallView => {
    const { items, bytes, at } = news.get(call.id) ?? { items: 0, bytes: 0, at: 0 };
    if (call.state !== "open" || items <= (call.items ?? 0)) return call;
    lastAt = Math.max(lastAt, at);
    return { ...call, items, bytes };
  });
  return { ...view, calls, lastAt };
}
