import { createInterface, type Interface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import type { ApprovalDecision, ApprovalRequest, Approve } from "../../gate/approval.ts";
import type { ApproveMode } from "../input/parse-approve.ts";
import { PROGRAM_CALL, RUN_PROGRAM } from "../../programs/execution-state.ts";
import { foldText } from "./fold-text.ts";
import { shortInput, wholeInput } from "./input-text.ts";
import { oneLine } from "./one-line.ts";
import type { Screen } from "./screen.ts";

export interface Approver extends Disposable {
  readonly approve: Approve;
}

export interface ApproverOptions {
  readonly mode: ApproveMode;
  readonly screen: Screen;
  /** Whether a decision can come later where there is no terminal; otherwise calls are denied there. */
  readonly canWait?: boolean;
  readonly input?: NodeJS.ReadStream;
  /** Where the questions go. */
  readonly output?: NodeJS.WriteStream;
}

/** Columns of a terminal that does not tell its width. */
const COLUMNS = 80;

/**
 * Decides calls that need approval as `--approve` says. `ask` puts one question at a time to the person at the terminal;
 * where there is no terminal, or its input has ended, calls are denied, and a sentence on standard error says so once for
 * each tool. The input of a call is foreign text: it cannot control the terminal or begin a line.
 */
export function createApprover({
  mode,
  screen,
  canWait = false,
  input = process.stdin,
  output = process.stderr,
}: ApproverOptions): Approver {
  const told = new Set<string>();
  const deny = (tool: string, why: string, note: string): ApprovalDecision => {
    if (!told.has(tool)) screen.show(() => output.write(`portcullis: ${oneLine(tool)} needs approval. ${why}\n`));
    told.add(tool);
    return { allow: false, by: `--approve ${mode}`, note };
  };
  if (mode === "all") return { approve: () => ({ allow: true, by: "--approve all" }), [Symbol.dispose]: () => {} };
  if (mode === "later") return { approve: () => "later", [Symbol.dispose]: () => {} };
  if (mode === "none")
    return {
      approve: ({ tool }) =>
        deny(tool, "Its calls are denied by --approve none.", "No call that needs approval is allowed here."),
      [Symbol.dispose]: () => {},
    };

  const answers = new Answers(input);
  const asker = new Asker(answers, output);
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (request: ApprovalRequest): Promise<ApprovalDecision | "later"> => {
    if (request.signal.aborted) return { allow: false };
    if (canWait && (!input.isTTY || !output.isTTY || answers.hasEnded)) return "later";
    if (!input.isTTY || !output.isTTY || answers.hasEnded)
      return deny(
        request.tool,
        "There is no terminal to ask on, so its calls are denied. Start the command on a terminal, or with --approve all.",
        "There was no terminal to ask on.",
      );
    using _ = screen.take();
    return await asker.ask(request);
  };
  return {
    approve: (request) => {
      const decision = last.then(() => ask(request));
      last = decision.catch(() => {});
      return decision;
    },
    [Symbol.dispose]: () => answers.close(),
  };
}

/** What a question shows. A program is shown whole: it is allowed with each of its lines. */
function shownRequest({ callId, tool, caller, input }: ApprovalRequest, columns: number) {
  const source = callId === PROGRAM_CALL && tool === RUN_PROGRAM ? sourceOf(input) : undefined;
  if (source !== undefined)
    return { question: "A program needs approval before it starts:", lines: foldText(source, columns), isWhole: true };
  const who = caller === "direct" ? "The model" : "The program";
  return { question: `${who} calls ${oneLine(tool)}, which needs approval:`, ...shortInput(input, columns) };
}

function sourceOf(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("source" in input)) return undefined;
  return typeof input.source === "string" ? input.source : undefined;
}

class Asker {
  readonly #answers: Answers;
  readonly #output: NodeJS.WriteStream;
  #wasWithdrawn = false;

  constructor(answers: Answers, output: NodeJS.WriteStream) {
    this.#answers = answers;
    this.#output = output;
  }

  /** Puts one question, and resolves when it is answered, withdrawn, or the terminal's input has ended. */
  async ask(request: ApprovalRequest): Promise<ApprovalDecision> {
    const { input, signal } = request;
    const output = this.#output;
    await this.#answers.discardTyped();
    // Removes a line that shows progress.
    output.write("\r\u001b[2K");
    // A program may withdraw a call while the person types, so that the answer would count for its next call.
    if (this.#wasWithdrawn) {
      const { type } = await this.#answerTo("The last question is no longer open. Enter shows the next one: ", signal);
      if (type !== "line") return { allow: false };
    }
    const columns = output.columns > 0 ? output.columns : COLUMNS;
    const { question, lines, isWhole } = shownRequest(request, columns);
    output.write(`${question}\n${lines.join("\n")}\n`);
    for (;;) {
      const answer = await this.#answerTo(
        `Run it? y runs it, n or Enter denies it${isWhole ? "" : ", v shows the whole input"}: `,
        signal,
      );
      if (answer.type !== "line") return { allow: false };
      if (/^y(?:es)?$/i.test(answer.text)) return { allow: true, by: "terminal" };
      if (/^(?:no?)?$/i.test(answer.text))
        return { allow: false, by: "terminal", note: "The person who was asked denied it." };
      if (/^v$/i.test(answer.text)) output.write(`${wholeInput(input, columns).join("\n")}\n`);
    }
  }

  async #answerTo(question: string, signal: AbortSignal): Promise<Answer> {
    this.#output.write(question);
    const answer = await this.#answers.next(signal);
    this.#wasWithdrawn = answer.type === "withdrawn";
    if (answer.type === "withdrawn") this.#output.write("\nThis call is no longer waiting.\n");
    if (answer.type === "ended") this.#output.write("\nDenied: the terminal's input has ended.\n");
    return answer;
  }
}

type Answer =
  | { readonly type: "line"; readonly text: string }
  /** The terminal's input has ended. */
  | { readonly type: "ended" }
  /** The call is not waited for any more. */
  | { readonly type: "withdrawn" };

/** Lines that the person types. The terminal is not read before the first question, so that a command in the background is not stopped. */
class Answers {
  readonly #input: NodeJS.ReadStream;
  readonly #lines: string[] = [];
  #reader: Interface | undefined;
  #hasEnded = false;
  #wake: (() => void) | undefined;

  constructor(input: NodeJS.ReadStream) {
    this.#input = input;
  }

  get hasEnded(): boolean {
    return this.#input.readableEnded || (this.#hasEnded && this.#lines.length === 0);
  }

  /** Discards what was typed before a question is put: it answers no question that the person has read. */
  async discardTyped(): Promise<void> {
    const isFirst = this.#reader === undefined;
    this.#reader ??= this.#read();
    // What the terminal holds arrives in the turns after the first reading.
    for (let turns = isFirst ? 2 : 0; turns > 0; turns -= 1) await setImmediate();
    this.#lines.length = 0;
  }

  async next(signal: AbortSignal): Promise<Answer> {
    const wake = () => this.#wake?.();
    signal.addEventListener("abort", wake);
    // A question that is open keeps the process alive; the terminal alone does not.
    this.#input.ref();
    try {
      for (;;) {
        if (signal.aborted) return { type: "withdrawn" };
        const text = this.#lines.shift();
        if (text !== undefined) return { type: "line", text: text.trim() };
        if (this.#hasEnded) return { type: "ended" };
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#input.unref();
      signal.removeEventListener("abort", wake);
    }
  }

  close(): void {
    this.#reader?.close();
  }

  #read(): Interface {
    // Without `terminal`: the system's terminal driver edits the line, and turns Ctrl-C into SIGINT.
    const reader = createInterface({ input: this.#input, terminal: false });
    reader.on("line", (line) => {
      this.#lines.push(line);
      this.#wake?.();
    });
    reader.on("close", () => {
      this.#hasEnded = true;
      this.#wake?.();
    });
    return reader;
  }
}
