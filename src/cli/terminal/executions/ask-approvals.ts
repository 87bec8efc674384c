import type { ApprovalDecision, ApprovalRequest, Approve } from "../../../gate/approve/approval.ts";
import { textOf, ignore } from "../../../base/index.ts";
import type { ApproveMode } from "../../input/option-values.ts";
import { isApprovalOfProgram } from "../../../executions/from-journal/index.ts";
import { callAbout, shownInput } from "../../../executions/output/index.ts";
import { wrappedLines, oneLine, standardStreams } from "../standard-streams.ts";
import { type TypedAnswer, type AnswerLines, terminalLines } from "../terminal-lines.ts";

/** What commands show while they work. A question that is open has the screen for itself. */
export class Screen {
  #isTaken = false;
  #waiting: (() => void)[] = [];

  /** Runs `write` now, or when no question is open any more, in the order of the calls. */
  show(write: () => void): void {
    if (this.#isTaken) this.#waiting.push(write);
    else write();
  }

  /** Takes the screen until the returned object is disposed. One question is open at a time. */
  take(): Disposable {
    this.#isTaken = true;
    return {
      [Symbol.dispose]: () => {
        this.#isTaken = false;
        for (const write of this.#waiting.splice(0)) write();
      },
    };
  }
}

const ALLOWED: ApprovalDecision = { allow: true, by: "terminal" };
const DENIED: ApprovalDecision = { allow: false, by: "terminal", note: "The person who was asked denied it." };

export interface Approver extends Disposable {
  readonly approve: Approve;
}

interface ApproverOptions {
  readonly mode: ApproveMode;
  readonly screen: Screen;
  /** Whether a decision can come later if there is no terminal; otherwise such calls are denied. */
  readonly canWait?: boolean;
  /** The lines of standard input, if the command reads other lines too. The caller closes them. */
  readonly lines?: AnswerLines;
}

/** Columns of a terminal that does not tell its width. */
const COLUMNS = 80;

/**
 * Decides calls that need approval as `--approve` says. `ask` puts one question at a time to the person at the
 * terminal. If there is no terminal, or its input has ended, calls are denied, and standard error says so once for each
 * tool. The input of a call is foreign text: it cannot control the terminal or begin a line.
 */
export function createApprover({ mode, screen, canWait, lines }: ApproverOptions): Approver {
  const { stdin: input, stderr: output } = standardStreams();
  const notices = new Set<string>();
  const deny = (tool: string, why: string, note: string): ApprovalDecision => {
    if (!notices.has(tool)) screen.show(() => output.write(`portcullis: ${oneLine(tool)} needs approval. ${why}\n`));
    notices.add(tool);
    return { allow: false, by: `--approve ${mode}`, note };
  };
  const fixed: Readonly<Record<Exclude<ApproveMode, "ask">, Approve>> = {
    all: () => ({ allow: true, by: "--approve all" }),
    later: () => "later",
    none: ({ tool }) =>
      deny(tool, "Its calls are denied by --approve none.", "No call that needs approval is allowed here."),
  };
  if (mode !== "ask") return { approve: fixed[mode], [Symbol.dispose]: () => {} };

  const own = terminalLines(input, output);
  const answers = lines ?? own;
  const asker = createAsker(answers, output);
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (request: ApprovalRequest): Promise<ApprovalDecision | "later"> => {
    if (request.signal.aborted) return { allow: false };
    if (input.isTTY && output.isTTY && !answers.hasEnded) {
      using _ = screen.take();
      return await asker(request);
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
      last = decision.catch(ignore);
      return decision;
    },
    [Symbol.dispose]: () => own[Symbol.dispose](),
  };
}

interface ShownRequest {
  readonly question: string;
  readonly lines: readonly string[];
  /** Whether the input is shown in full. */
  readonly isWhole: boolean;
  /** What is known of the tool, in one line. */
  readonly about?: string;
}

/** The text of a question. A program is shown whole: it is allowed with each of its lines. */
function shownRequest(request: ApprovalRequest, columns: number): ShownRequest {
  const { tool, input, caller } = request;
  const source = isApprovalOfProgram(request) ? textOf(input, "source") : undefined;
  if (source !== undefined)
    return {
      question: "A program needs approval before it starts:",
      lines: wrappedLines(source, columns),
      isWhole: true,
    };
  return {
    question: `${caller === "direct" ? "The model" : "The program"} calls ${oneLine(tool)}, which needs approval:`,
    about: callAbout(request),
    ...inputLines(request, columns),
  };
}

function inputLines(request: ApprovalRequest, columns: number, most?: number): Pick<ShownRequest, "lines" | "isWhole"> {
  const { text, isWhole } = shownInput(request, most);
  return { lines: wrappedLines(text.replaceAll(/^ {2}/gm, ""), columns), isWhole };
}

/** `g 20`, or `g 20 /amount=500`: further calls, and what a number of their inputs may be in all. */
function grantIn(text: string): NonNullable<ApprovalDecision["grant"]> | undefined {
  const { calls, pointer, sum } =
    /^g\s*(?<calls>[1-9]\d{0,5})(?:\s+(?<pointer>\/\S{1,200})=(?<sum>\d{1,15}(?:\.\d{1,6})?))?$/i.exec(text)?.groups ??
    {};
  if (calls === undefined) return undefined;
  return { calls: Number(calls), sums: pointer === undefined ? undefined : { [pointer]: Number(sum) } };
}

/** Makes a function that puts one question, and resolves when it is answered, withdrawn, or the terminal's input has ended. */
function createAsker(answers: AnswerLines, output: NodeJS.WriteStream) {
  let wasWithdrawn = false;
  const answerTo = async (question: string, signal: AbortSignal): Promise<TypedAnswer> => {
    const answer = await answers.ask(question, signal);
    wasWithdrawn = answer.type === "withdrawn";
    if (answer.type === "withdrawn") output.write("\nThis call is no longer waiting.\n");
    if (answer.type === "ended") output.write("\nDenied: the terminal's input has ended.\n");
    return answer.type === "line" ? { ...answer, text: answer.text.trim() } : answer;
  };
  return async (request: ApprovalRequest): Promise<ApprovalDecision> => {
    const { signal, grantsLeft } = request;
    await answers.discardTyped();
    // A program may withdraw a call while the person types, so that the answer would count for its next call.
    if (wasWithdrawn) {
      const { type } = await answerTo("The last question is no longer open. Enter shows the next one: ", signal);
      if (type !== "line") return { allow: false };
    }
    const columns = output.columns > 0 ? output.columns : COLUMNS;
    const { question, about, lines, isWhole } = shownRequest(request, columns);
    const shown = [question, ...(about === undefined ? [] : wrappedLines(about, columns)), ...lines];
    output.write(`${shown.join("\n")}\n`);
    const more = grantsLeft > 0 && !isApprovalOfProgram(request) ? ", g 20 also up to 20 more" : "";
    for (;;) {
      const whole = isWhole ? "" : ", v shows the whole input";
      const answer = await answerTo(`Run it? y runs it${more}, n or Enter denies it${whole}: `, signal);
      if (answer.type !== "line") return { allow: false };
      const { text } = answer;
      if (/^y(?:es)?$/i.test(text)) return ALLOWED;
      if (/^(?:no?)?$/i.test(text)) return DENIED;
      const grant = more === "" ? undefined : grantIn(text);
      if (grant) return { ...ALLOWED, grant };
      if (/^v$/i.test(text))
        output.write(`${inputLines(request, columns, Number.POSITIVE_INFINITY).lines.join("\n")}\n`);
    }
  };
}
