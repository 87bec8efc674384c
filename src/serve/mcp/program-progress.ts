import type { Progress } from "../../loops/program-tool.ts";
import { byteText } from "../../output/sentences.ts";
import type { ExecutionEvent } from "../../programs/execute.ts";

/** Tells how far a program has come: its calls, and the bytes that it was given. */
export class ProgramProgress {
  readonly #tell: (progress: Progress) => void;
  #calls = 0;
  #done = 0;
  #bytes = 0;
  #last = "";

  constructor(tell: (progress: Progress) => void) {
    this.#tell = tell;
  }

  take(event: ExecutionEvent): void {
    if (event.type === "call_started") {
      this.#calls += 1;
      this.#last = event.tool;
    } else if (event.type === "call_ended") {
      this.#done += 1;
      this.#bytes += event.line.bytes;
    } else return;
    // A call that is refused ends without having started.
    const calls = Math.max(this.#calls, this.#done);
    const last = this.#last === "" ? "" : `, the latest ${this.#last}`;
    this.#tell({ calls, text: `${this.#done} of ${calls} calls done, ${byteText(this.#bytes)} received${last}.` });
  }
}
