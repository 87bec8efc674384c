/** Wait before a stream that broke off is opened again, in milliseconds; it doubles up to the longest. */
const AGAIN_MS = 500;
const LONGEST_MS = 10_000;
/** Status of the answer if all events were sent. */
const NO_MORE = 204;
/** Characters of one line. Longer lines are no events of this server. */
const LINE_LENGTH = 4 * 1024 * 1024;

/** How far the stream of a call is, as an event tells it. */
export interface StreamNews {
  readonly callId: string;
  readonly items: number;
  readonly bytes: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Called for each event. An event that tells only how far a stream is has `news`: they come often. */
export type OnEvent = (news?: StreamNews) => void;

/**
 * Follows a stream of server-sent events, and calls back for each. What happened meanwhile is asked for with the id of the
 * last event. `EventSource` cannot send a key.
 */
export async function followEvents(
  open: (lastId: string | undefined) => Promise<Response>,
  onEvent: OnEvent,
  signal: AbortSignal,
): Promise<void> {
  let lastId: string | undefined;
  let type = "";
  let wait = AGAIN_MS;
  while (!signal.aborted) {
    try {
      const { body, status } = await open(lastId);
      if (status === NO_MORE) return onEvent();
      for await (const line of linesOf(body)) {
        if (line.startsWith("id:")) lastId = line.slice(3).trim();
        if (line.startsWith("event:")) type = line.slice(6).trim();
        if (line.startsWith("data:")) onEvent(newsOf(type, line.slice(5)));
        wait = AGAIN_MS;
      }
    } catch {
      // The view that is asked for next says what is wrong.
    }
    onEvent();
    await pause(wait, signal);
    wait = Math.min(wait * 2, LONGEST_MS);
  }
}

function newsOf(type: string, data: string): StreamNews | undefined {
  return type === "call_streamed" ? (JSON.parse(data) as StreamNews) : undefined;
}

async function* linesOf(body: ReadableStream<Uint8Array<ArrayBuffer>> | null): AsyncGenerator<string> {
  if (!body) return;
  let rest = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > LINE_LENGTH) throw new Error("A line of the stream is too long.");
    yield* lines;
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
