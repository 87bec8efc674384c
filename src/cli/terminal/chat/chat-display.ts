import type { AgentEvent } from "../../../agent/event.ts";
import { childExecution } from "../../../agent/calls/child-execution.ts";
import type { CallLine } from "../../../gate/call-line.ts";
import { byteText } from "../../../output/byte-text.ts";
import { count, counted } from "../../../output/count-text.ts";
import { isApprovalOfProgram } from "../../../programs/from-journal/execution-state.ts";
import { RUN_PROGRAM } from "../../../tools/tool-name.ts";
import { duration, endingText, streamText } from "../../../views/words.ts";
import { endedCallText, hostedCallLine, looseText } from "../executions/conversation-lines.ts";
import { oneLine, shortLine } from "../one-line.ts";
import { CodeLines, styled } from "./code-lines.ts";
import { LiveRegion, type RegionStream } from "./live-region.ts";
import { fitted, laidOut, StreamCleaner, TextLayout } from "./streamed-text.ts";

/** Calls of a program that are listed, and tools that are, once it is done and has made more. */
const LISTED = 10;
/** What tools are called that have no line of their own. */
const OTHERS = "other tools";
const INDENT = "  ";
const WORKS = "the model works";
/** Length of a fault's message, in UTF-16 code units. */
const FAULT_LENGTH = 1000;
/** Shortest time between two drawings, in milliseconds. */
const DRAW_MS = 50;
/** How often the seconds that pass are shown, in milliseconds. */
const TICK_MS = 500;

interface ShownProgram {
  readonly number: number;
  readonly name: string;
  readonly execution: string;
  readonly code: CodeLines;
  readonly since: number;
  readonly ended: string[];
  readonly byTool: Map<string, ToolSum>;
  calls: number;
}

/** The calls of one tool that have ended. */
interface ToolSum {
  calls: number;
  bytes: number;
  withoutValue: number;
}

/**
 * Shows a conversation on a terminal while it goes on. Text stays; below it, in a region that is drawn again, stand the
 * program that is written or runs, its calls, and what is waited for. A program that is done is folded to one line.
 *
 * Texts of models, tools and guests are cleaned and indented: no line of theirs begins where the lines of the command
 * line begin.
 */
export class ChatDisplay implements Disposable {
  readonly #stream: RegionStream;
  readonly #region: LiveRegion;
  readonly #cleaner = new StreamCleaner();
  readonly #layout: TextLayout;
  readonly #open = new Map<string, string>();
  #conversation: string | undefined;
  #writing: { readonly index: number; readonly code: CodeLines } | undefined;
  #program: ShownProgram | undefined;
  /** Ids of the calls of the programs that began; a program's number is its place. */
  readonly #programs: readonly string[];
  /** What happened while a question had the terminal. */
  readonly #queued: AgentEvent[] = [];
  /** What is waited for, and since when; undefined while the person is asked. */
  #status: { text: string; readonly since: number } | undefined;
  #held = 0;
  #drawing: NodeJS.Timeout | undefined;
  #ticking: NodeJS.Timeout | undefined;

  constructor(stream: RegionStream, programs: readonly string[]) {
    this.#stream = stream;
    this.#programs = programs;
    this.#region = new LiveRegion(stream);
    this.#layout = new TextLayout(() => this.#region.columns, INDENT);
  }

  /** Shows that the model of this conversation works, until `rest`. */
  begin(conversation: string): void {
    this.#conversation = conversation;
    this.#status = { text: WORKS, since: Date.now() };
    this.#ticking ??= setInterval(() => this.#drawSoon(), TICK_MS).unref();
    this.#drawSoon();
  }

  /** What was shown stays, and nothing is drawn any more. */
  rest(): void {
    clearInterval(this.#ticking);
    clearTimeout(this.#drawing);
    [this.#ticking, this.#drawing, this.#status, this.#writing] = [undefined, undefined, undefined, undefined];
    this.#region.clear();
    this.#endText();
    if (this.#program) this.#fold(this.#program, "waits", styled("yellow", "▸"));
    this.#open.clear();
  }

  /** Runs what writes lines, above the region. */
  above(write: () => void): void {
    this.#region.clear();
    this.#endText();
    write();
    this.#drawSoon();
  }

  /** Leaves the terminal to a question, until disposed. */
  hold(): Disposable {
    this.#held += 1;
    this.#region.clear();
    this.#endText();
    return {
      [Symbol.dispose]: () => {
        this.#held -= 1;
        if (this.#held === 0) for (const event of this.#queued.splice(0)) this.#show(event);
        this.#drawSoon();
      },
    };
  }

  [Symbol.dispose](): void {
    this.rest();
  }

  /** Who makes a call, for a person who is asked about it. */
  callerOf({ execution, caller }: Pick<CallLine, "caller"> & { readonly execution: string }): string {
    if (execution === this.#conversation && caller === "direct") return "The model";
    const { name, execution: own } = this.#program ?? {};
    if (name !== undefined && (execution === own || execution === this.#conversation))
      return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`;
    return `An agent or a program below a call (${oneLine(execution)})`;
  }

  readonly onEvent = (event: AgentEvent): void => {
    if (this.#held > 0) this.#queued.push(event);
    else this.#show(event);
  };

  #show(event: AgentEvent): void {
    if ("tool" in event && "callId" in event && isApprovalOfProgram(event)) return;
    const isOwn = event.execution === this.#conversation;
    switch (event.type) {
      case "text":
        // Agents that are tools write too, and their text is no part of the answer.
        return isOwn ? this.#text(event.text) : undefined;
      case "argument":
        return isOwn ? this.#written(event) : undefined;
      case "turn_ended":
        if (!isOwn) return;
        this.#writing = undefined;
        if (this.#status) this.#status.text = WORKS;
        // What others print from here on is no part of the text.
        if (this.#layout.isInLine) this.#endText();
        break;
      case "model_changed":
        return this.#line(styled("yellow", `${oneLine(event.model)} goes on: the model before it failed`));
      case "tools_not_strict":
        return this.#line(styled("yellow", looseText(event)));
      case "program_started":
        return isOwn ? this.#begins(event) : undefined;
      case "program_ended":
        return isOwn ? this.#ends(event) : undefined;
      case "hosted_call_ended":
        return this.#line(hostedCallLine(event));
      case "call_started":
        this.#open.set(callKey(event), shortLine(event.tool, 100));
        break;
      case "call_retried":
        return this.#line(styled("yellow", this.#inset(`${event.tool} failed, and is tried again`).join("\n")));
      case "call_streamed":
        this.#open.set(callKey(event), `${shortLine(event.tool, 100)}: ${streamText(event, true)}`);
        break;
      case "call_ended":
        return this.#callEnds(event);
      case "execution_queued":
        if (this.#status) this.#status.text = "it waits for a place among the executions that run";
        break;
      default:
        return;
    }
    this.#drawSoon();
  }

  #text(piece: string): void {
    if (piece === "") return;
    this.#region.clear();
    this.#stream.write(this.#layout.add(this.#cleaner.add(piece)));
  }

  #endText(): void {
    const rest = this.#layout.add(this.#cleaner.end()) + this.#layout.end();
    if (rest !== "") this.#stream.write(rest);
  }

  #written({ index, tool, text }: AgentEvent & { readonly type: "argument" }): void {
    if (tool === RUN_PROGRAM) {
      if (this.#writing?.index !== index) this.#writing = { index, code: new CodeLines("javascript") };
      this.#writing.code.add(text);
    } else if (this.#status) this.#status.text = `the model writes a call of ${shortLine(tool, 60)}`;
    this.#drawSoon();
  }

  #begins({ execution, callId, source, hosted }: AgentEvent & { readonly type: "program_started" }): void {
    const number = this.#programs.indexOf(callId) + 1;
    const code = new CodeLines("javascript");
    code.add(source.trimEnd());
    const name = `program ${number}${hosted ? " (at the provider)" : ""}`;
    const own = childExecution(execution, callId);
    this.#writing = undefined;
    this.#program = { number, name, execution: own, code, since: Date.now(), ended: [], byTool: new Map(), calls: 0 };
    this.#drawSoon();
  }

  #ends({ outcome, isError }: AgentEvent & { readonly type: "program_ended" }): void {
    if (!this.#program) return;
    const how = isError ? (outcome ? endingText(outcome) : "failed") : "done";
    const fault = outcome?.type === "failed" ? `${outcome.fault.name}: ${outcome.fault.message}` : "";
    this.#open.clear();
    this.#fold(this.#program, how, isError ? styled("red", "✗") : styled("green", "▸"), fault);
  }

  /** Folds a program to a line, with its calls. */
  #fold(
    { number, name, code, since, ended, byTool, calls }: ShownProgram,
    how: string,
    mark: string,
    fault = "",
  ): void {
    this.#program = undefined;
    const facts = [counted(code.count, "line"), counted(calls, "call"), duration(Date.now() - since)].join(", ");
    const lines = calls > LISTED ? [...byTool].map(([tool, sum]) => toolLine(tool, sum)) : ended;
    const told = `(${facts}; /show ${number})`;
    const isNarrow = `▸ ${name} ${how} ${told}`.length >= this.#region.columns;
    const text = [
      `${mark} ${styled("bold", name)} ${how}${isNarrow ? `\n${INDENT}` : " "}${styled("gray", told)}`,
      ...(fault === "" ? [] : this.#inset(shortLine(fault, FAULT_LENGTH)).map((line) => styled("red", line))),
      ...lines.flatMap((line) => this.#inset(line)).map((line) => styled("gray", line)),
    ];
    this.#line(text.join("\n"));
  }

  #callEnds(event: AgentEvent & { readonly type: "call_ended" }): void {
    this.#open.delete(callKey(event));
    const size = event.bytes > 0 ? `, ${byteText(event.bytes)}` : "";
    const line = `· ${endedCallText(event)}${size}`;
    if (!this.#program) return this.#line(styled("gray", this.#inset(line).join("\n")));
    this.#program.calls += 1;
    addTo(this.#program.byTool, event);
    this.#program.ended.push(line);
    if (this.#program.ended.length > LISTED) this.#program.ended.shift();
    this.#drawSoon();
  }

  /** A line with foreign words in it, none of whose parts begins at the left edge. */
  #inset(line: string): readonly string[] {
    return laidOut(line, this.#region.columns, INDENT).split("\n");
  }

  #line(text: string): void {
    this.above(() => this.#stream.write(`${text}\n`));
  }

  #drawSoon(): void {
    if (this.#held > 0 || this.#status === undefined) return;
    this.#drawing ??= setTimeout(() => this.#draw(), DRAW_MS).unref();
  }

  #draw(): void {
    this.#drawing = undefined;
    if (this.#held > 0 || this.#status === undefined) return;
    const work = this.#work();
    // Text whose line is open goes on there, unless something else follows it.
    if (work.length > 0) this.#endText();
    else if (this.#layout.isInLine) return;
    const { text, since } = this.#status;
    const calls = this.#open.size === 1 ? "a call runs" : `${count(this.#open.size)} calls run`;
    const what = this.#program ? `${this.#program.name} runs` : this.#open.size > 0 ? calls : text;
    const status = `… ${what}, ${Math.floor((Date.now() - since) / 1000)} s. Ctrl-C interrupts.`;
    this.#region.draw([...work, styled("gray", fitted(status, this.#region.columns - 1))]);
  }

  /** The program, and the calls that are open. */
  #work(): readonly string[] {
    const columns = this.#region.columns - 1;
    const cut = (line: string) => styled("gray", fitted(line, columns));
    const open = [...this.#open.values()].slice(-LISTED).map((text) => cut(`${INDENT}· ${text} …`));
    const code = this.#program?.code ?? this.#writing?.code;
    if (!code) return open;
    const ended = (this.#program?.ended ?? []).map((line) => cut(INDENT + line));
    const calls = [...ended, ...open].slice(-LISTED);
    const rows = Math.max(3, this.#region.rows - calls.length - 3);
    const bar = styled("gray", "│ ");
    const { lines, before } = code.tail(rows, columns - 4);
    return [
      styled("bold", this.#program?.name ?? "the model writes a program"),
      ...(before > 0 ? [cut(`${INDENT}│ … ${counted(before, "earlier line")}`)] : []),
      ...lines.map((line) => INDENT + bar + line),
      ...calls,
    ];
  }
}

/** A program may call names that no tool has, so that there may be any number of them. */
function addTo(
  byTool: Map<string, ToolSum>,
  { tool, bytes, outcome }: Pick<CallLine, "tool" | "bytes" | "outcome">,
): void {
  const name = byTool.has(tool) || byTool.size < LISTED ? tool : OTHERS;
  const sum = byTool.get(name) ?? { calls: 0, bytes: 0, withoutValue: 0 };
  sum.calls += 1;
  sum.bytes += bytes;
  if (outcome.type !== "value") sum.withoutValue += 1;
  byTool.set(name, sum);
}

function toolLine(tool: string, { calls, bytes, withoutValue }: ToolSum): string {
  const without = withoutValue === 0 ? "" : `, ${count(withoutValue)} without a value`;
  return `· ${shortLine(tool, 100)} × ${count(calls)}${without}${bytes > 0 ? `, ${byteText(bytes)}` : ""}`;
}

function callKey({ execution, callId }: { readonly execution: string; readonly callId: string }): string {
  return `${execution}/${callId}`;
}
