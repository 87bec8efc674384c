import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { ExecutionView } from "../../src/views/view.ts";
import type { Source } from "./source.ts";

export const SourceContext = createContext<Source | undefined>(undefined);

export function useSource(): Source {
  const source = useContext(SourceContext);
  if (!source) throw new Error("No source.");
  return source;
}

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

export function useExecution(execution: string): Asked<ExecutionView> & { readonly again: () => void } {
  const source = useSource();
  return useAsked(
    (signal) => source.view(execution, signal),
    source.watch && ((again, signal) => source.watch?.(execution, again, signal)),
    ["view", execution],
  );
}
