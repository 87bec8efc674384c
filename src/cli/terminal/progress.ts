import { byteText } from "../../output/sentences.ts";
import type { ExecutionEvent } from "../../programs/execute.ts";
import { oneLine } from "./one-line.ts";
import { quoted } from "./quoted.ts";
import { createScreen, type Screen } from "./screen.ts";

const TERMINAL_MS = 100;
const PLAIN_MS = 2000;

export interface Progress {
  readonly onEvent: (event: ExecutionEvent) => void;
  /** Stops, and removes the line. */
  readonly end: () => void;
}

/**
 * Shows, while a program runs, how many calls are done and open, the bytes of their results and the time: on a
 * terminal in one line that changes, elsewhere in a plain line every two seconds. Shows nothing while a question is open.
 */
export function showProgress(stream: NodeJS.WriteStream, screen: Screen = createScreen()): Progress {
  const since = performance.now();
  const open = new Set<string>();
  let done = 0;
  let bytes = 0;
  const line = () =>
    `${done} calls done, ${open.size} open, ${byteText(bytes)} in, ${((performance.now() - since) / 1000).toFixed(1)} s`;
  const show = () => screen.isTaken || stream.write(stream.isTTY ? `\r\u001b[2K${line()}` : `${line()}\n`);
  const timer = setInterval(show, stream.isTTY ? TERMINAL_MS : PLAIN_MS);
  return {
    onEvent(event) {
      if (event.type === "call_started") {
        open.add(event.callId);
      } else if (event.type === "call_ended") {
        open.delete(event.line.callId);
        done += 1;
        bytes += event.line.bytes;
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
    end() {
      clearInterval(timer);
      if (stream.isTTY) stream.write("\r\u001b[2K");
    },
  };
}
