import { count, counted } from "../../../output/count-text.ts";
import { byteText } from "../../../output/byte-text.ts";
import type { ExecutionEvent } from "../../../programs/event.ts";
import type { Streamed } from "../../../gate/streams/stream-news.ts";
import { isApprovalOfProgram } from "../../../programs/from-journal/execution-state.ts";
import { streamText } from "../../../views/words.ts";
import { oneLine } from "../one-line.ts";
import { quoted } from "./waiting-hints.ts";
import { Screen } from "../screen.ts";
import { statusLine } from "../status-line.ts";

/**
 * Shows on a terminal, while a program runs, how many calls are done and open, the bytes of their results, its open streams
 * and the time. Shows nothing while a question is open.
 */
export function showProgress(stream: NodeJS.WriteStream, screen = new Screen()) {
  const open = new Set<string>();
  const streams = new Map<string, Streamed>();
  let done = 0;
  let bytes = 0;
  const line = statusLine(
    (took) => {
      const streamed = sumOf(streams.values());
      return [
        `${counted(done, "call")} done`,
        `${count(open.size)} open`,
        `${byteText(bytes + streamed.bytes)} in`,
        ...streamLine(streams.size, streamed),
        took,
      ].join(", ");
    },
    { stream, screen },
  );
  return {
    onEvent: (event: ExecutionEvent): void => {
      if ("tool" in event && isApprovalOfProgram(event)) return;
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
        line.hide();
        stream.write(
          `The program waits for ${waitsFor} and keeps its process: it used ${event.held}. Decide from another terminal: portcullis decide ${quoted(oneLine(event.execution))}\n`,
        );
      }
    },
    /** Stops, and removes the line. */
    end: (): void => line[Symbol.dispose](),
    [Symbol.dispose]: (): void => line[Symbol.dispose](),
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

/** Shows on a terminal how many steps of long work are done. Shows nothing while a question is open. */
export function showBar(stream: NodeJS.WriteStream, steps: number, screen = new Screen()) {
  let done = 0;
  let what = "";
  const line = statusLine(
    () => {
      const filled = Math.round((done / steps) * WIDTH);
      return `${"█".repeat(filled)}${"░".repeat(WIDTH - filled)} ${done}/${steps} ${what}`;
    },
    { stream, screen },
  );
  return {
    /** Counts one more step as done. `raw` is `task: step`. */
    step(raw: string): void {
      what = raw;
      done = Math.min(done + 1, steps);
      line.draw();
    },
    /** Removes the bar. */
    end: (): void => line[Symbol.dispose](),
  };
}
