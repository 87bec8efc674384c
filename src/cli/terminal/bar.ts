import { oneLine } from "./one-line.ts";
import { createScreen, type Screen } from "./screen.ts";

export interface Bar {
  /** Counts one more step as done. `what` is `task: step`. */
  readonly step: (what: string) => void;
  /** Removes the bar. */
  readonly end: () => void;
}

const WIDTH = 24;

/** Shows the progress of long work: on a terminal in one line that changes, elsewhere in one line per task. Shows nothing while a question is open. */
export function showBar(stream: NodeJS.WriteStream, steps: number, screen: Screen = createScreen()): Bar {
  let done = 0;
  let task = "";
  return {
    step(raw) {
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
    end() {
      if (stream.isTTY) stream.write("\r\u001b[2K");
    },
  };
}
