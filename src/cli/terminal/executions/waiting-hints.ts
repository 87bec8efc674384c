import { countText, type PortcullisError, REMEDIES } from "../../../base/index.ts";
import type { Header } from "../../../journal/record.ts";
import { POSTGRES_URL, withoutPassword } from "../../../fleet/postgres/connection/address.ts";
import type { WaitingView } from "../../../serve/views/view.ts";
import { isModelName } from "../../../models/turn/index.ts";
import { ANSWERS, type AnswerWords, RESTS } from "../../../serve/views/words.ts";
import { SAME, type SameOptions } from "../../command-options.ts";
import { optionsOf } from "../../option.ts";
import { oneLine, writeStderr } from "../standard-streams.ts";
import type { AgentEnding } from "../../../conversations/event.ts";
import type { Report } from "../../../executions/output/index.ts";
import type { ExecutionEvent } from "../../../executions/event.ts";
import type { Outcome, WaitingApproval } from "../../../executions/outcome.ts";

/**
 * `SameOptions` of an execution that only its journal tells of: `FILE` stands for the tools that it began with, and for
 * the module of its model. None without a header.
 */
export function sameAs(header: Header | undefined, journal: string | undefined): SameOptions {
  if (!header) return {};
  const { tenant, tools, kind } = header;
  const isOfModule = kind === "conversation" && !isModelName(header.model);
  return {
    journal,
    tenant: tenant === "default" ? undefined : tenant,
    tools: tools.length === 0 ? undefined : "FILE",
    model: isOfModule ? "FILE" : undefined,
  };
}

/** Options of a command that continued an execution. Tools and a model that it was not given are as `sameAs` has them. */
export function sameOr(options: SameOptions, header: Header | undefined): SameOptions {
  if (!header) return options;
  const began = sameAs(header, options.journal);
  const { tools, mcp = [], openapi = [], model = began.model } = options;
  const hasTools = tools !== undefined || mcp.length > 0 || openapi.length > 0;
  return { ...options, tools: hasTools ? tools : began.tools, model };
}

/** The commands that bring an execution or a conversation further, for each call that it waits for. None after an ending. */
export function waitingHints(execution: string, ended: Outcome | AgentEnding, options: SameOptions): readonly string[] {
  if (ended.type !== "waiting") return [];
  const { approvals, calls, more = 0 } = ended;
  const waiting: readonly (Pick<WaitingView, "why" | "hold"> & Pick<WaitingApproval, "callId">)[] = [
    ...approvals,
    ...calls.map(({ callId }) => ({ callId, why: "result" as const })),
  ];
  return [
    ...waiting.flatMap(({ callId: id, why, hold }) =>
      nextCommands(execution, { id, why, hold }, options).map(
        ({ what, command }) => `portcullis: ${what}, with:\n  ${command}`,
      ),
    ),
    ...(more > 0
      ? [`portcullis: ${countText(more, "further call")} ${more === 1 ? "is" : "are"} shown once these are decided.`]
      : []),
    ...(approvals.length > 0 ? [`portcullis: then resume it, with:\n  ${resumeCommand(execution, options)}`] : []),
  ];
}

/**
 * The command that runs a corrected program, answered from what a program has done that did not complete. None if that is nothing,
 * or if its journal has ended with this process.
 */
export function correctedHints(
  { execution, outcome, calls }: Pick<Report, "execution" | "outcome" | "calls">,
  options: SameOptions,
): readonly string[] {
  const isOver = outcome.type === "completed" || outcome.type === "waiting";
  if (isOver || options.journal === undefined || calls.every((call) => call.outcome.type !== "value")) return [];
  const command = `portcullis run PROGRAM${sameFlags(options)} --corrects ${shellQuoted(execution)}`;
  return [
    `portcullis: a corrected PROGRAM is given what this one has done, and does none of it again, with:\n  ${command}`,
  ];
}

/** Tells of a program that waits and keeps its process: no command takes it up, and another terminal decides. */
export function tellHeld(event: ExecutionEvent): void {
  if (event.type !== "execution_waiting" || event.held === undefined) return;
  const { approvals, calls } = event.waiting;
  const waitsFor = [...approvals, ...calls].map(({ tool, callId }) => `${tool} (call ${callId})`).join(", ");
  writeStderr(
    `The program waits for ${oneLine(waitsFor)} and keeps its process: it used ${event.held}. Decide from another terminal: portcullis decide ${shellQuoted(event.execution)}\n`,
  );
}

/**
 * The commands that a call waits for, each with what it does. A command has `JSON` in place of a result. The answers to a
 * call whose outcome is unknown have one command each: who pastes a command has chosen.
 */
export function nextCommands(
  execution: string,
  { id, why, hold = 1 }: Pick<WaitingView, "id" | "why" | "hold">,
  options: SameOptions,
): readonly { readonly what: string; readonly command: string }[] {
  if (why === "result") {
    const command = `${resumeCommand(execution, options)} --result ${shellQuoted(`${id}=JSON`)}`;
    return [{ what: `answer call ${oneLine(id)} in place of JSON`, command }];
  }
  const call = { callId: id, hold };
  if (why === "approval")
    return [{ what: "allow it, or --deny it", command: decideCommand(execution, call, "allow", options) }];
  return ANSWERS[why].map(({ answer, verb, effect }) => ({
    what: `${verb} (${effect})`,
    command: decideCommand(execution, call, answer, options),
  }));
}

/** The command that gives an answer to a call that waits for a person. */
export function decideCommand(
  execution: string,
  { callId, hold }: Pick<WaitingApproval, "callId" | "hold">,
  answer: AnswerWords["answer"],
  { tenant, journal }: SameOptions,
): string {
  const value = answer === "done" ? " JSON" : "";
  return `portcullis decide ${shellQuoted(execution)} ${shellQuoted(callId)} --${answer}${value}${hold > 1 ? ` --hold ${hold}` : ""}${flags({ tenant, journal })}`;
}

/** The command that takes an execution up, with the tools of this command. */
export function resumeCommand(execution: string, options: SameOptions): string {
  return `portcullis resume ${shellQuoted(execution)}${sameFlags(options)}`;
}

/** The command that takes a conversation up on a terminal. */
export function chatCommand(execution: string, options: SameOptions): string {
  return `portcullis chat --id ${shellQuoted(execution)}${sameFlags(options)}`;
}

function sameFlags(options: SameOptions): string {
  const { model, baseUrl } = options;
  const values: Readonly<Record<string, string | readonly string[] | boolean | undefined>> = {
    ...options,
    model: isModelName(model) ? undefined : model,
    baseUrl: baseUrl && withoutKey(baseUrl),
  };
  const texts = optionsOf(SAME).map((option) => {
    const value = values[option.attributeName()];
    if (value === undefined || value === option.defaultValue) return "";
    if (typeof value === "boolean") return value ? "" : ` ${option.long}`;
    return flags({ [option.name()]: value });
  });
  return texts.join("");
}

/** An address, or `URL` in place of an address that may hold a key. */
function withoutKey(address: string): string {
  const { username, password, search, hash } = URL.parse(address) ?? { hash: address };
  return [username, password, search, hash].some(Boolean) ? "URL" : address;
}

/** How a conversation goes on that rests. No command answers the calls with which it rests. */
export function restsText(execution: string, options: SameOptions): string {
  const call = `runtime.conversation({ id: ${JSON.stringify(oneLine(execution))} })`;
  return `${RESTS} Continue it with ${call}, or with:\n  ${chatCommand(execution, options)}`;
}

/** Options as they are written after a command, without the missing ones. */
export function flags(options: Readonly<Record<string, string | readonly string[] | undefined>>): string {
  return Object.entries(options)
    .flatMap(([name, value = []]) => [value].flat().map((one) => ` --${name} ${shellQuoted(withoutSecret(one))}`))
    .join("");
}

/** The URL of a journal's database may have a password: a command is printed without it. */
function withoutSecret(value: string): string {
  return POSTGRES_URL.test(value) ? withoutPassword(value) : value;
}

/** Callers choose ids of executions, and models ids of calls. */
export function shellQuoted(arg: string): string {
  return quoted(oneLine(arg));
}

/** What a person at a terminal does in place of the library's remedies. */
const REMEDIES_HERE: Readonly<Record<keyof typeof REMEDIES, (execution: string, journal: string) => string>> = {
  execution_unknown: (_, journal) => `List what it holds, and of whom, with: portcullis show${journal}`,
  call_unknown: (execution, journal) =>
    `Look at its calls, and at what it waits for, with: portcullis show ${execution}${journal}`,
};

/** The sentence of an error, with the command in place of the library's remedy. */
export function completeHint(
  { code, message }: Pick<PortcullisError, "code" | "message">,
  {
    execution = "EXECUTION",
    journal,
  }: { readonly execution?: string | undefined; readonly journal?: string | undefined },
): string {
  if (code !== "execution_unknown" && code !== "call_unknown") return message;
  return message.replace(REMEDIES[code], () => REMEDIES_HERE[code](shellQuoted(execution), flags({ journal })));
}

/** An argument as a shell takes it. */
export function quoted(arg: string): string {
  return /^[\w./:@=-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", String.raw`'\''`)}'`;
}
