import type { ApprovalDecision, ApprovalRequest, Approve } from "../../../gate/approve/approval.ts";
import type { ApproveMode } from "../../input/option-values.ts";
import { PROGRAM_CALL } from "../../../programs/from-journal/execution-state.ts";
import { RUN_PROGRAM } from "../../../tools/tool-name.ts";
import { foldText, shortInput, wholeInput } from "./input-text.ts";
import { oneLine } from "../one-line.ts";
import type { Screen } from "../screen.ts";
import { TerminalLines, type Answer } from "../terminal-lines.ts";
import { standardStreams } from "../standard-streams.ts";

export interface Approver extends Disposable {
  readonly approve: Approve;
}

export interface ApproverOptions {
  readonly mode: ApproveMode;
  readonly screen: Screen;
  /** Whether a decision can come later if there is no terminal; otherwise such calls are denied. */
  readonly canWait?: boolean;
  readonly input?: NodeJS.ReadStream;
  /** The lines of `input`, if the command reads other lines too. The caller closes them. */
  readonly lines?: TerminalLines;
  /** The stream for the questions. */
  readonly output?: NodeJS.WriteStream;
}

/** Columns of a terminal that does not tell its width. */
const COLUMNS = 80;

/**
 * Decides calls that need approval as `--approve` says. `ask` puts one question at a time to the person at the
 * terminal. If there is no terminal, or its input has ended, calls are denied, and standard error says so once for each
 * tool. The input of a call is foreign text: it cannot control the terminal or begin a line.
 */
export function createApprover({
  mode,
  screen,
  canWait = false,
  input = standardStreams().stdin,
  output = standardStreams().stderr,
  lines,
}: ApproverOptions): Approver {
  const told = new Set<string>();
  const deny = (tool: string, why: string, note: string): ApprovalDecision => {
    if (!told.has(tool)) screen.show(() => output.write(`portcullis: ${oneLine(tool)} needs approval. ${why}\n`));
    told.add(tool);
    return { allow: false, by: `--approve ${mode}`, note };
  };
  const fixed: Readonly<Record<Exclude<ApproveMode, "ask">, Approve>> = {
    all: () => ({ allow: true, by: "--approve all" }),
    later: () => "later",
    none: ({ tool }) =>
      deny(tool, "Its calls are denied by --approve none.", "No call that needs approval is allowed here."),
  };
  if (mode !== "ask") return { approve: fixed[mode], [Symbol.dispose]: () => {} };

  const answers = lines ?? new TerminalLines(input);
  const asker = new Asker(answers, output);
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (request: ApprovalRequest): Promise<ApprovalDecision | "later"> => {
    if (request.signal.aborted) return { allow: false };
    if (input.isTTY && output.isTTY && !answers.hasEnded) {
      using _ = screen.take();
      return await asker.ask(request);
    }
    if (canWait) return "later";
    return deny(
      request.tool,
      "There is no terminal to ask on, so its calls are denied. Start the command on a terminal, or with --approve all.",
      "There was no terminal to ask on.",
    );
  };
  return {
    approve: (request) => {
      const decision = last.then(() => ask(request));
      last = decision.catch(() => {});
      return decision;
    },
    [Symbol.dispose]: () => (lines ? undefined : answers.close()),
  };
}

/** The text of a question. A program is shown whole: it is allowed with each of its lines. */
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
  readonly #answers: TerminalLines;
  readonly #output: NodeJS.WriteStream;
  #wasWithdrawn = false;

  constructor(answers: TerminalLines, output: NodeJS.WriteStream) {
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
