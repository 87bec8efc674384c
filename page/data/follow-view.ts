import type { ExecutionView, ViewPatch } from "../../src/serve/views/view.ts";
import { applyPatch } from "../../src/serve/views/patched-view.ts";
import { type Asked, Refused } from "./source.ts";

/** Wait before a stream that broke off is opened again, in milliseconds; it doubles up to the longest. */
const AGAIN_MS = 500;
const LONGEST_MS = 10_000;
/** Characters of one line. Longer lines are no events of this server. */
const LINE_LENGTH = 128 * 1024 * 1024;

/** Statuses in the four hundreds that a later request may not have: the others say that the request itself is wrong. */
const PASSING: ReadonlySet<number> = new Set([408, 429]);

/** Told of each view, and of each failure with the last view before it. `length`: characters of what was received. */
export type OnView = (asked: Asked<ExecutionView>, length: number) => void;

/**
 * Follows the stream of an execution's view to its end. A stream that breaks off is opened again, and begins with the whole
 * view. `EventSource` cannot send a key.
 */
export async function followView(open: () => Promise<Response>, onView: OnView, signal: AbortSignal): Promise<void> {
  let view: ExecutionView | undefined;
  let length = 0;
  let wait = AGAIN_MS;
  while (!signal.aborted) {
    try {
      const { body } = await open();
      for await (const { type, data } of eventsOf(body)) {
        view = viewAfter(view, type, data);
        length = type === "view" ? data.length : length + data.length;
        wait = AGAIN_MS;
        if (view) onView({ value: view }, length);
        if (view?.state === "ended") return;
      }
    } catch (error) {
      if (signal.aborted) return;
      onView({ ...(view && { value: view }), error: errorFor(error) }, length);
      if (error instanceof Refused && isFinal(error)) return;
    }
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_MS);
  }
}

function viewAfter(view: ExecutionView | undefined, type: string, data: string): ExecutionView | undefined {
  const told: unknown = JSON.parse(data);
  if (type === "view") return told as ExecutionView;
  if (type === "patch") return view && applyPatch(view, told as ViewPatch);
  if (type === "error") throw new Refused(0, (told as { readonly error: { readonly message: string } }).error.message);
  return view;
}

/** A browser says of a connection that broke only that it broke. */
function errorFor(error: unknown): unknown {
  return error instanceof Refused ? error : new Error("The server does not answer. The page asks again by itself.");
}

function isFinal({ status }: Refused): boolean {
  return status >= 400 && status < 500 && !PASSING.has(status);
}

async function* eventsOf(body: ReadableStream<Uint8Array<ArrayBuffer>> | null) {
  let type = "";
  for await (const line of linesOf(body)) {
    if (line.startsWith("event:")) type = line.slice(6).trim();
    if (line.startsWith("data:")) yield { type, data: line.slice(5) };
  }
}

async function* linesOf(body: ReadableStream<Uint8Array<ArrayBuffer>> | null): AsyncGenerator<string> {
  if (!body) return;
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const lines = chunk.split("\n");
    const rest = lines.pop() ?? "";
    for (const line of lines) {
      yield parts.join("") + line;
      parts = [];
      length = 0;
    }
    parts.push(rest);
    length += rest.length;
    if (length > LINE_LENGTH) throw new Error("A line of the stream is too long.");
  }
}

/** Resolves after this time, or once the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const over = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", over);
    resolve();
  };
  const timer = setTimeout(over, ms);
  signal.addEventListener("abort", over);
  return promise;
}
