import type { ApprovalDecision, ApprovalRequest, Approve } from "../../../gate/approve/approval.ts";
import type { ApproveMode } from "../../input/option-values.ts";
import { isApprovalOfProgram } from "../../../programs/from-journal/execution-state.ts";
import { foldText, shortInput, type ShownInput, wholeInput } from "./input-text.ts";
import { callAbout } from "../../../output/call-about.ts";
import { count, counted } from "../../../output/count-text.ts";
import { laidOut } from "../chat/streamed-text.ts";
import { oneLine } from "../one-line.ts";
import type { Screen } from "../screen.ts";
import { TerminalLines, type Answer, type AnswerLines } from "../terminal-lines.ts";
import { standardStreams } from "../standard-streams.ts";
import { movesCursor } from "../terminal-shape.ts";

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
  readonly input?: NodeJS.ReadStream;
  /** The lines of `input`, if the command reads other lines too. The caller closes them. */
  readonly lines?: AnswerLines;
  /** The stream for the questions. */
  readonly output?: NodeJS.WriteStream;
  /** Whether each question shows the whole input, in pages if it is longer than the terminal. */
  readonly isWhole?: boolean;
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
  isWhole = false,
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

  const own = new TerminalLines(input, output);
  const answers = lines ?? own;
  const asker = new Asker(answers, output, (request, columns) => shownRequest(request, columns, isWhole));
  let last: Promise<unknown> = Promise.resolve();
  /** Requests that wait, and those among them that were allowed together with another one. */
  const open = new Set<ApprovalRequest>();
  const allowed = new Set<ApprovalRequest>();
  const ask = async (request: ApprovalRequest): Promise<ApprovalDecision | "later"> => {
    if (request.signal.aborted) return { allow: false };
    if (allowed.has(request)) return ALLOWED;
    if (input.isTTY && output.isTTY && !answers.hasEnded) {
      using _ = screen.take();
      const others = () =>
        [...open].filter(
          (one) => one !== request && one.tool === request.tool && !one.signal.aborted && !allowed.has(one),
        );
      return await asker.ask(request, others, (all) => {
        for (const one of all) allowed.add(one);
      });
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
      open.add(request);
      const decision = last
        .then(() => ask(request))
        .finally(() => {
          open.delete(request);
          allowed.delete(request);
        });
      last = decision.catch(() => {});
      return decision;
    },
    [Symbol.dispose]: () => own[Symbol.dispose](),
  };
}

interface ShownRequest extends ShownInput {
  readonly question: string;
  /** What is known of the tool, in one line. */
  readonly about?: string;
  /** Whether more lines than the terminal has are shown page by page. */
  readonly isPaged: boolean;
}

/** The text of a question. A program is shown whole: it is allowed with each of its lines. */
function shownRequest(request: ApprovalRequest, columns: number, isWhole: boolean): ShownRequest {
  const { tool, input, caller } = request;
  const source = isApprovalOfProgram(request) ? sourceOf(input) : undefined;
  if (source !== undefined)
    return {
      question: "A program needs approval before it starts:",
      lines: foldText(source, columns),
      isWhole: true,
      isPaged: isWhole,
    };
  const shown = isWhole ? { lines: wholeInput(input, columns), isWhole } : shortInput(input, columns);
  return {
    question: `${caller === "direct" ? "The model" : "The program"} calls ${oneLine(tool)}, which needs approval:`,
    about: callAbout(request),
    ...shown,
    isPaged: isWhole,
  };
}

function sourceOf(input: unknown): string | undefined {
  if (typeof input !== "object" || input === null || !("source" in input)) return undefined;
  return typeof input.source === "string" ? input.source : undefined;
}

/** Rows of a page that are not the input's. */
const PAGE_FRAME = 4;
/** Rows of a terminal that does not tell its height. */
const ROWS = 24;

/** The further answers that a person has while other calls wait. They are allowed together only once each of them was shown. */
function othersText({ tool, grantsLeft }: ApprovalRequest, waiting: number, seen: number): string {
  const all = seen === 0 ? "" : `; a runs this one and the ${count(seen)} shown`;
  const more = grantsLeft > 0 ? "; g 20 runs this one and 20 more." : ".";
  return `${counted(waiting, "other call")} of ${oneLine(tool)} ${waiting === 1 ? "waits" : "wait"}: t shows ${waiting === 1 ? "it" : "them"}${all}${more}`;
}

/** `g 20`, or `g 20 /amount=500`: further calls, and what a number of their inputs may be in all. */
function grantIn(text: string): NonNullable<ApprovalDecision["grant"]> | undefined {
  const { calls, pointer, sum } =
    /^g\s*(?<calls>[1-9]\d{0,5})(?:\s+(?<pointer>\/\S{1,200})=(?<sum>\d{1,15}(?:\.\d{1,6})?))?$/i.exec(text.trim())
      ?.groups ?? {};
  if (calls === undefined) return undefined;
  return { calls: Number(calls), ...(pointer === undefined ? {} : { sums: { [pointer]: Number(sum) } }) };
}

/** A call that waits, as a row of the table: its id, then its whole input. */
function tableRow({ callId, input }: ApprovalRequest, columns: number): readonly string[] {
  return [`call ${oneLine(callId)}:`, ...wholeInput(input, columns)];
}

class Asker {
  readonly #answers: AnswerLines;
  readonly #output: NodeJS.WriteStream;
  readonly #shown: (request: ApprovalRequest, columns: number) => ShownRequest;
  #wasWithdrawn = false;

  constructor(
    answers: AnswerLines,
    output: NodeJS.WriteStream,
    shown: (request: ApprovalRequest, columns: number) => ShownRequest,
  ) {
    this.#answers = answers;
    this.#output = output;
    this.#shown = shown;
  }

  /** Puts one question, and resolves when it is answered, withdrawn, or the terminal's input has ended. */
  async ask(
    request: ApprovalRequest,
    others: () => readonly ApprovalRequest[] = () => [],
    onAllowed: (all: readonly ApprovalRequest[]) => void = () => {},
  ): Promise<ApprovalDecision> {
    const { input, signal } = request;
    const output = this.#output;
    await this.#answers.discardTyped();
    // Removes a line that shows progress.
    if (movesCursor(output)) output.write("\r\u001b[2K");
    // A program may withdraw a call while the person types, so that the answer would count for its next call.
    if (this.#wasWithdrawn) {
      const { type } = await this.#answerTo("The last question is no longer open. Enter shows the next one: ", signal);
      if (type !== "line") return { allow: false };
    }
    const columns = output.columns > 0 ? output.columns : COLUMNS;
    const { question, about, lines, isWhole, isPaged } = this.#shown(request, columns);
    output.write(`${laidOut(question, columns)}\n`);
    if (about !== undefined) output.write(`${laidOut(about, columns, "  ")}\n`);
    if (!isPaged) output.write(`${lines.join("\n")}\n`);
    const early = isPaged ? await this.#showPages(lines, signal) : undefined;
    if (early) return early;
    const isOfTool = !isApprovalOfProgram(request);
    /** The other calls that the person was shown, each with its whole input. */
    let shown: readonly ApprovalRequest[] = [];
    for (;;) {
      const waiting = isOfTool ? others() : [];
      const seen = shown.filter((one) => waiting.includes(one));
      if (waiting.length > 0) output.write(`${laidOut(othersText(request, waiting.length, seen.length), columns)}\n`);
      const answer = await this.#answerTo(
        `Run it? y runs it, n or Enter denies it${isWhole ? "" : ", v shows the whole input"}: `,
        signal,
      );
      if (answer.type !== "line") return { allow: false };
      const { text } = answer;
      if (/^y(?:es)?$/i.test(text)) return ALLOWED;
      if (/^(?:no?)?$/i.test(text)) return DENIED;
      if (/^v$/i.test(text)) output.write(`${wholeInput(input, columns).join("\n")}\n`);
      const grant = isOfTool && request.grantsLeft > 0 ? grantIn(text) : undefined;
      if (grant) return { ...ALLOWED, grant };
      if (/^t$/i.test(text) && waiting.length > 0) {
        output.write(`${waiting.flatMap((one) => tableRow(one, columns)).join("\n")}\n`);
        shown = waiting;
      } else if (/^a(?:ll)?$/i.test(text) && seen.length > 0) {
        onAllowed(seen);
        return ALLOWED;
      }
    }
  }

  /** Shows lines, page by page on request if they are more than the terminal has. A decision means that the rest was not wanted. */
  async #showPages(lines: readonly string[], signal: AbortSignal): Promise<ApprovalDecision | undefined> {
    const rows = this.#output.rows > 0 ? this.#output.rows : ROWS;
    let page = Math.max(PAGE_FRAME, rows - PAGE_FRAME);
    for (let from = 0; from < lines.length; from += page) {
      this.#output.write(`${lines.slice(from, from + page).join("\n")}\n`);
      const left = lines.length - from - page;
      if (left <= 0) return undefined;
      const more = `${counted(left, "more line")}. Enter shows more, a shows all, n denies it: `;
      const answer = await this.#answerTo(more, signal);
      if (answer.type !== "line") return { allow: false };
      if (/^no?$/i.test(answer.text)) return DENIED;
      if (/^a(?:ll)?$/i.test(answer.text)) {
        from += page;
        page = lines.length;
        this.#output.write(`${lines.slice(from).join("\n")}\n`);
      }
    }
    return undefined;
  }

  async #answerTo(question: string, signal: AbortSignal): Promise<Answer> {
    const answer = await this.#answers.ask(question, signal);
    this.#wasWithdrawn = answer.type === "withdrawn";
    if (answer.type === "withdrawn") this.#output.write("\nThis call is no longer waiting.\n");
    if (answer.type === "ended") this.#output.write("\nDenied: the terminal's input has ended.\n");
    return answer.type === "line" ? { ...answer, text: answer.text.trim() } : answer;
  }
}
