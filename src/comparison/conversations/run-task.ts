import { isDeepStrictEqual } from "node:util";
import type { Mode, Verdict } from "../comparison.ts";
import { sum } from "../accounting/exchange.ts";
import { cutText, cutValue } from "./cut-result.ts";
import type { CallResult } from "../../models/model.ts";
import { type ScriptedTurn, scriptedModel } from "../../models/scripted.ts";
import { Gate } from "../../gate/gate.ts";
import { createMemoryJournal } from "../../journal/memory-journal.ts";
import type { Outcome } from "../../output/report.ts";
import { callsOf, type MadeCall } from "../../programs/calls-of.ts";
import { LIMIT_RULES, type Limits, resolveLimits } from "../../programs/limits.ts";
import type { Tool } from "../../tools/tool.ts";
import { isVisible, ToolSet } from "../../tools/tool-set.ts";
import { runAgent } from "../../agent/agent.ts";
import { answerFrom, verdictOf } from "./answer-from.ts";
import { notesOf } from "./comparison-notes.ts";
import type { ComparisonRequest, Work } from "../comparison-request.ts";
import { failingProgram, probingProgram } from "./comparison-programs.ts";
import type { PlannedCall } from "../comparison-task.ts";
import { harmless } from "../without-side-effects.ts";
import { openingFor } from "../../agent/opening.ts";
import type { RanConversation, RanTask } from "./task-run.ts";
import type { ProgramsOption } from "../../agent/transcript.ts";

/** Has every conversation of a comparison, and works out what can be answered from what each returned. */
export async function runComparison(work: Work, request: ComparisonRequest): Promise<RanTask> {
  const { task, onProgress } = request;
  const converse = (programs: ProgramsOption, script: readonly ScriptedTurn[], further?: readonly Tool[]) =>
    haveConversation(work, task.question, programs, script, further);
  const answerTurn: ScriptedTurn = { text: JSON.stringify(task.answer) };
  const program: ScriptedTurn = { programs: [task.program] };

  const programmatic = await converse("local", [program, answerTurn]);
  const { layers } = programmatic;
  onProgress("programmatic");
  const reads = layers.flat().filter(({ tool }) => work.gate.tools.get(tool)?.effect === "read");
  const probe = { programs: [probingProgram(reads)] };
  const probed = await converse("local", [probe, program, answerTurn]);
  onProgress("programmatic+probe");
  const failing = { programs: [failingProgram(task.program)] };
  const retried = await converse("local", [failing, program, answerTurn]);
  onProgress("programmatic+retry");

  const plan = task.direct?.map((layer) => layer.map(madeOf)) ?? layers;
  const barred = notForDirectCalls(work.gate.tools, plan.flat());
  const direct = barred.length > 0 ? undefined : await converse("none", [...plan.map(turnOf), answerTurn]);
  onProgress("direct-unlimited");
  const bestTurns = task.best?.calls.map((layer) => turnOf(layer.map(madeOf)));
  const best = bestTurns && (await converse("none", [...bestTurns, answerTurn], task.best?.tools));
  if (best) onProgress("direct-best-tool");

  const verdicts = new Map<Mode, Verdict>([
    ["programmatic", verdictOf(programmatic.outcomes.at(-1), task.answer)],
    ["programmatic+probe", verdictOf(probed.outcomes.at(-1), task.answer)],
    ["programmatic+retry", verdictOf(retried.outcomes.at(-1), task.answer)],
  ]);
  const truncated = direct && cutResults(direct, request);
  if (direct && truncated) {
    const whole = await answerFrom(work, task, direct.turns, valueOf);
    for (const mode of ["direct-seq", "direct-parallel", "direct-unlimited"] as const) verdicts.set(mode, whole);
    const left = truncated === direct ? whole : await answerFrom(work, task, direct.turns, leftBy(truncated));
    // Where the whole results tell what to ask next and the cut ones do not, the cut has lost it.
    verdicts.set("direct-truncated", whole === "right" && left === "unchecked" ? "wrong" : left);
  }
  if (best) verdicts.set("direct-best-tool", bestVerdict(best, task.answer));
  return {
    direct,
    truncated,
    best,
    programmatic,
    probed,
    retried,
    verdicts,
    plan,
    notes: notesOf(request, programmatic, probed, verdicts, barred),
  };
}

/** A conversation under the rules of the runtime. Its journal ends with it: a measurement is no part of the runtime's record. */
async function haveConversation(
  work: Work,
  question: string,
  programs: ProgramsOption,
  script: readonly ScriptedTurn[],
  further: readonly Tool[] = [],
): Promise<RanConversation> {
  const { gate, language, tenant, signal } = work;
  const tools = new ToolSet(
    [...gate.tools.all, ...further].map(harmless).map((tool) => (programs === "local" ? leftToPrograms(tool) : tool)),
  );
  const model = scriptedModel(script);
  const journal = createMemoryJournal({ keepLength: Number.POSITIVE_INFINITY });
  const outcomes: Outcome[] = [];
  let lastProgram: string | undefined;
  const { transcript, calls } = await runAgent(
    {
      ...work,
      gate: new Gate(tools, gate.approve),
      journal,
      onEvent: (event) => {
        work.onEvent(event);
        if (event.type === "execution_started") lastProgram = event.execution;
        if (event.type === "program_ended" && event.outcome) outcomes.push(event.outcome);
      },
    },
    {
      model,
      task: question,
      programs,
      maxTurns: script.length,
      maxTokens: Number.MAX_SAFE_INTEGER,
      language,
      limits: programs === "none" ? limitsOfDirectCalls(work.limits) : work.limits,
      tenant,
      signal,
    },
  );
  signal.throwIfAborted();
  const resultBytes = sum(calls.map(({ bytes }) => bytes));
  return {
    opening: openingFor(model, tools, programs, language),
    turns: transcript.turns,
    outcomes,
    layers: lastProgram === undefined ? [] : callsOf(await journal.read(lastProgram)),
    resultBytes,
  };
}

function notForDirectCalls(tools: ToolSet, calls: readonly MadeCall[]): readonly string[] {
  const names = new Set(calls.map(({ tool }) => tool));
  return tools.all.filter((tool) => names.has(tool.name) && !isVisible(tool, ["direct"])).map(({ name }) => name);
}

/** Whatever a model would be shown, if it were shown it whole. */
function limitsOfDirectCalls(limits: Limits): Limits {
  return resolveLimits(limits, {
    outputBytes: LIMIT_RULES.outputBytes.most,
    totalBytes: LIMIT_RULES.totalBytes.most,
    calls: LIMIT_RULES.calls.most,
    wallMs: LIMIT_RULES.wallMs.most,
  });
}

/** A tool that may be called both ways is declared to the model in one way here, the one that is measured. */
function leftToPrograms(tool: Tool): Tool {
  return isVisible(tool, ["programmatic"]) ? { ...tool, allowedCallers: ["programmatic"] } : tool;
}

function madeOf({ tool, input }: PlannedCall): MadeCall {
  return { tool, inputText: JSON.stringify(input) };
}

function turnOf(calls: readonly MadeCall[]): ScriptedTurn {
  return { calls: calls.map(({ tool, inputText }) => ({ tool, inputText })) };
}

function valueOf({ text }: CallResult): unknown {
  return JSON.parse(text);
}

/** The same conversation with each result cut; itself where none is long enough. */
function cutResults(direct: RanConversation, { cutTokens, count }: ComparisonRequest): RanConversation {
  let anyCut = false;
  const cut = (result: CallResult): CallResult => {
    const text = cutText(result.text, cutTokens, count);
    if (text === result.text) return result;
    anyCut = true;
    return { ...result, text, isJson: false };
  };
  const turns = direct.turns.map(({ turn, results }) => ({ turn, results: results.map(cut) }));
  return anyCut ? { ...direct, turns } : direct;
}

/** What is left to know of a result in this conversation. */
function leftBy({ turns }: RanConversation): (result: CallResult) => unknown {
  const left = new Map(turns.flatMap(({ results }) => results.map((result) => [result.callId, result])));
  return (result) => {
    const { text } = left.get(result.callId) ?? result;
    const value = valueOf(result);
    return text === result.text ? value : cutValue(value, text.length);
  };
}

/** A tool that was made for the question returns the answer itself. */
function bestVerdict({ turns }: RanConversation, answer: unknown): Verdict {
  const last = turns.flatMap(({ results }) => results).at(-1);
  return last && !last.isError && isDeepStrictEqual(valueOf(last), answer) ? "right" : "wrong";
}
