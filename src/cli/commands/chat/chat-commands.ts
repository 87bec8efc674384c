import { writeFileSync } from "node:fs";
import type { AgentReport } from "../../../agent/agent-report.ts";
import type { ExecutionId } from "../../../journal/execution-id.ts";
import { nearest } from "../../../option-rules/nearest.ts";
import type { Runtime } from "../../../runtime.ts";
import type { ConversationView } from "../../../views/view.ts";
import { viewExecution } from "../../../views/view-execution.ts";
import { causeOf } from "../../failure.ts";
import { costText } from "../../terminal/chat/answer-text.ts";
import { savedText } from "../../terminal/chat/saved-text.ts";
import { laidOut } from "../../terminal/chat/streamed-text.ts";
import { foldText } from "../../terminal/executions/input-text.ts";
import { oneLine } from "../../terminal/one-line.ts";
import { table } from "../../terminal/print.ts";
import { FACT_COLUMNS, factCells } from "../tools/tool-facts.ts";
import { toolFacts } from "../../../tools/tool-facts.ts";
import { chatHelp, type ChatCommandName } from "./chat-help.ts";

/** What the commands of a conversation look at. */
export interface ChatState {
  readonly runtime: Runtime;
  readonly execution: ExecutionId;
  /** Whole name of the model. */
  readonly model: string;
  /** Ids of the calls of the programs that began, by which `/show` numbers them. */
  readonly programs: readonly string[];
  /** After the last answer; undefined before the first one. */
  readonly report: AgentReport<unknown> | undefined;
  readonly columns: number;
}

/** What a command gives: a text, lines that fit the terminal and do not steer it, or what the conversation does next. */
export type ChatCommandResult = { readonly text: string } | { readonly lines: readonly string[] } | "exit" | "continue";

type ChatCommand = (state: ChatState, argument: string) => ChatCommandResult | Promise<ChatCommandResult>;

const COMMANDS: Readonly<Record<ChatCommandName, ChatCommand>> = {
  "/tools": listTools,
  "/cost": cost,
  "/show": showProgram,
  "/save": save,
  "/continue": () => "continue",
  "/help": ({ columns }) => ({ lines: [chatHelp(columns)] }),
  "/exit": () => "exit",
};
const NAMES = Object.keys(COMMANDS);

/** Whether a line is meant as a command. A message may begin with a slash after a space. */
export function isCommand(line: string): boolean {
  return /^\/[a-z]{0,20}(?:\s|$)/.test(line);
}

export async function runChatCommand(line: string, state: ChatState): Promise<ChatCommandResult> {
  const text = line.trim();
  const end = /\s/.exec(text)?.index ?? text.length;
  const [name, argument] = [text.slice(0, end), text.slice(end)];
  if (isName(name)) return COMMANDS[name](state, argument.trim());
  const [meant] = nearest(name, NAMES, 1);
  const hint = meant === undefined ? "/help lists the commands" : `did you mean ${meant}?`;
  return { text: `There is no command ${oneLine(name)}: ${hint}. To say it to the model, begin with a space.` };
}

/** The commands that a line may become, for the tab key. */
export function completeCommand(line: string): [string[], string] {
  return [line.startsWith("/") ? NAMES.filter((name) => name.startsWith(line)) : [], line];
}

function isName(name: string): name is ChatCommandName {
  return Object.hasOwn(COMMANDS, name);
}

function listTools({ runtime: { tools }, columns }: ChatState): ChatCommandResult {
  const rows = tools.all.map((tool) => factCells(toolFacts(tool)));
  if (rows.length === 0) return { text: "There are no tools. --tools, --mcp and --openapi give some." };
  const lines = table(FACT_COLUMNS, rows).split("\n");
  if (lines.every(({ length }) => length < columns)) return { lines };
  const facts = (cells: readonly string[]) => cells.map((cell, at) => `${FACT_COLUMNS[at + 1]}: ${cell}`).join("; ");
  return { lines: rows.flatMap(([name = "", ...cells]) => [oneLine(name), laidOut(facts(cells), columns, "  ")]) };
}

function cost({ report, model }: ChatState): ChatCommandResult {
  return { text: report ? costText(report, model) : "Nothing was said yet." };
}

async function showProgram(state: ChatState, argument: string): Promise<ChatCommandResult> {
  const { programs, columns } = state;
  const number = argument === "" ? programs.length : Number(argument);
  const id = programs[number - 1];
  if (id === undefined)
    return {
      text: programs.length === 0 ? "No program has run yet." : `/show takes a number from 1 to ${programs.length}.`,
    };
  const { turns } = await wholeView(state);
  const found = turns.flatMap((turn) => turn.programs).find((program) => program.id === id);
  return { lines: foldText(found?.source.text.trimEnd() ?? "", columns) };
}

async function save(state: ChatState, file: string): Promise<ChatCommandResult> {
  if (file === "") return { text: "/save needs the name of a file: /save talk.md, or talk.json for a transcript." };
  const isTranscript = file.endsWith(".json");
  if (isTranscript && !state.report) return { text: "Nothing was said yet. Without .json the file is Markdown." };
  const text = isTranscript ? `${JSON.stringify(state.report?.transcript)}\n` : savedText(await wholeView(state));
  try {
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const isThere = (error as NodeJS.ErrnoException).code === "EEXIST";
    return {
      text: isThere
        ? `${file} is there already, and was left as it is.`
        : `${file} was not written: ${causeOf(error)}.`,
    };
  }
  return { text: `${file} has the conversation${isTranscript ? ", for runtime.converse({ continue })" : ""}.` };
}

/** The conversation with its whole texts. */
async function wholeView({ runtime, execution }: ChatState): Promise<ConversationView> {
  const whole = { each: Number.MAX_SAFE_INTEGER, all: Number.MAX_SAFE_INTEGER };
  return (await viewExecution(runtime.journal, execution, whole)) as ConversationView;
}
