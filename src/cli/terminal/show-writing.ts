import type { AgentEvent } from "../../agent/event.ts";
import { oneLine } from "./one-line.ts";
import type { Screen } from "./screen.ts";

/** Text that is kept of what a model writes, in UTF-16 code units. */
const KEPT_LENGTH = 2000;

/**
 * Shows on a terminal, in one line that changes, the line of a program that its model is writing. It is removed when the
 * program is whole, and then shown as what runs.
 */
export function createWriting(stream: NodeJS.WriteStream, screen: Screen): (event: AgentEvent) => void {
  let written = "";
  return (event) => {
    if (!stream.isTTY || screen.isTaken) return;
    if (event.type === "argument" && event.tool === "run_program") {
      written = (written + event.text).slice(-KEPT_LENGTH);
      const width = Math.max(20, (stream.columns ?? 80) - 2);
      stream.write(`\r\u001b[2K… ${oneLine(lastLine(written)).slice(-width)}`);
    } else if (written !== "" && event.type !== "argument") {
      written = "";
      stream.write("\r\u001b[2K");
    }
  };
}

/** The input is JSON while it is written: its line breaks are written as `\\n`. */
function lastLine(text: string): string {
  const end = Math.max(text.lastIndexOf("\n") + 1, text.lastIndexOf("\\n") + 2);
  return text.slice(Math.max(0, text.lastIndexOf("\\n") < 0 ? text.lastIndexOf("\n") + 1 : end));
}
