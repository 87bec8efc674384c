import { count, counted } from "../../../output/count-text.ts";
import { byteText } from "../../../output/byte-text.ts";
import type { ExecutionEvent } from "../../../programs/event.ts";
import type { Streamed } from "../../../gate/streams/stream-news.ts";
import { streamText } from "../../../views/words.ts";
import { oneLine } from "../one-line.ts";
import { quoted } from "./waiting-hints.ts";
import { Screen } from "../screen.ts";

const TERMINAL_MS = 100;
const PLAIN_MS = 2000;

export type Progress = ReturnType<typeof showProgress>;

/**
 * Shows, while a program runs, how many calls are done and open, the bytes of their results, its open streams and the time: on a
 * terminal in one line that changes, elsewhere in a plain line every two seconds. Shows nothing while a question is open.
 */
export function showProgress(stream: NodeJS.WriteStream, screen = new Screen()) {
  const since = performance.now();
  const open = new Set<string>();
  const streams = new Map<string, Streamed>();
  let done = 0;
  let bytes = 0;
  const line = () => {
    const streamed = sumOf(streams.values());
    return [
      `${counted(done, "call")} done`,
      `${count(open.size)} open`,
      `${byteText(bytes + streamed.bytes)} in`,
      ...streamLine(streams.size, streamed),
      `${((performance.now() - since) / 1000).toFixed(1)} s`,
    ].join(", ");
  };
  const show = () => screen.isTaken || stream.write(stream.isTTY ? `\r\u001b[2K${line()}` : `${line()}\n`);
  const timer = setInterval(show, stream.isTTY ? TERMINAL_MS : PLAIN_MS);
  return {
    onEvent: (event: ExecutionEvent): void => {
      if (event.type === "call_started") {
        open.add(event.callId);
      } else if (event.type === "call_streamed") {
        const { callId, items, bytes: streamedBytes } = event;
        streams.set(callId, { items, bytes: streamedBytes });
      } else if (event.type === "call_ended") {
        open.delete(event.callId);
        streams.delete(event.callId);
        done += 1;
        bytes += event.bytes;
      } else if (event.type === "execution_waiting" && event.held !== undefined) {
        const { approvals, calls } = event.waiting;
        const waitsFor = [...approvals, ...calls]
          .map(({ tool, callId }) => oneLine(`${tool} (call ${callId})`))
          .join(", ");
        stream.write(
          `${stream.isTTY ? "\r\u001b[2K" : ""}The program waits for ${waitsFor} and keeps its process: it used ${event.held}. Decide from another terminal: portcullis decide ${quoted(oneLine(event.execution))}\n`,
        );
      }
    },
    /** Stops, and removes the line. */
    end(): void {
      clearInterval(timer);
      if (stream.isTTY) stream.write("\r\u001b[2K");
    },
  };
}

function sumOf(streams: Iterable<Streamed>): Streamed {
  let [items, bytes] = [0, 0];
  for (const stream of streams) {
    items += stream.items;
    bytes += stream.bytes;
  }
  return { items, bytes };
}

/** The open streams of a program, together. */
function streamLine(streams: number, streamed: Streamed): readonly string[] {
  if (streams === 0) return [];
  if (streams === 1) return [streamText(streamed, true)];
  return [`${count(streams)} streams of ${counted(streamed.items, "item")}, ${byteText(streamed.bytes)} so far`];
}

const WIDTH = 24;

/** Shows the progress of long work: on a terminal in one line that changes, elsewhere in one line per task. Shows nothing while a question is open. */
export function showBar(stream: NodeJS.WriteStream, steps: number, screen = new Screen()) {
  let done = 0;
  let task = "";
  return {
    /** Counts one more step as done. `raw` is `task: step`. */
    step(raw: string): void {
      const what = oneLine(raw);
      done = Math.min(done + 1, steps);
      const filled = Math.round((done / steps) * WIDTH);
      const line = `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${done}/${steps} ${what}`;
      if (stream.isTTY && !screen.isTaken)
        stream.write(`\r\u001b[2K${line.slice(0, Math.max(20, stream.columns - 1))}`);
      const [name = ""] = what.split(":");
      if (!stream.isTTY && name !== task) stream.write(`${name}\n`);
      task = name;
    },
    /** Removes the bar. */
    end(): void {
      if (stream.isTTY) stream.write("\r\u001b[2K");
    },
  };
}
