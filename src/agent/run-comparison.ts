import { isDeepStrictEqual } from "node:util";
import { BASELINE, HEADLINE, type Mode, type Verdict } from "../measures/comparison.ts";
import { cutText, cutValue } from "../measures/truncate.ts";
import type { CallResult, Opening } from "../models/model.ts";
import { type ScriptedTurn, scriptedModel } from "../models/scripted.ts";
import { Gate } from "../gate/gate.ts";
import { createMemoryJournal } from "../journal/memory-journal.ts";
import type { Outcome } from "../output/report.ts";
import { callsOf, type MadeCall } from "../programs/calls-of.ts";
import { LIMIT_RULES, type Limits, resolveLimits } from "../programs/limits.ts";
import type { Tool } from "../tools/tool.ts";
import { isVisible, ToolSet } from "../tools/tool-set.ts";
import { runAgent } from "./agent.ts";
import type { AgentHost } from "./agent-as-tool.ts";
import { answerFrom, verdictOf } from "./answer-from.ts";
import type { ComparisonRequest } from "./compare.ts";
import { failingProgram, probingProgram } from "./comparison-programs.ts";
import type { PlannedCall } from "./comparison-task.ts";
import { harmless } from "./harmless.ts";
import { openingFor } from "./opening.ts";
import type { ProgramsOption, TranscriptTurn } from "./transcript.ts";

/** Where a comparison takes place: the same sandbox and rules as everything else of a runtime. */
export interface Work extends AgentHost {
  readonly signal: AbortSignal;
}

/** A conversation as it was had. */
export interface RanConversation {
  readonly opening: Opening;
  readonly turns: readonly TranscriptTurn[];
  /** Of its programs, in order. */
  readonly outcomes: readonly Outcome[];
  /** Calls of its last program. */
  readonly layers: readonly (readonly MadeCall[])[];
  /** UTF-8 bytes of JSON that tools returned. */
  readonly resultBytes: number;
}

/** A task done both ways. */
export interface RanTask {
  /** All calls that need no answer of each other in one turn. Undefined where one of them may not be made directly. */
  readonly direct: RanConversation | undefined;
  readonly best: RanConversation | undefined;
  readonly programmatic: RanConversation;
  readonly probed: RanConversation;
  readonly retried: RanConversation;
  readonly verdicts: ReadonlyMap<Mode, Verdict>;
  /** Direct calls, in layers. */
  readonly plan: readonly (readonly MadeCall[])[];
  readonly notes: readonly string[];
}

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
  if (direct) {
    const whole = await answerFrom(work, task, direct.turns, valueOf);
    for (const mode of ["direct-seq", "direct-parallel", "direct-unlimited"] as const) verdicts.set(mode, whole);
    const left = await answerFrom(work, task, direct.turns, (result) => leftOf(result, request));
    // Where the whole results tell what to ask next and the cut ones do not, the cut has lost it.
    verdicts.set("direct-truncated", whole === "right" && left === "unchecked" ? "wrong" : left);
  }
  if (best) verdicts.set("direct-best-tool", bestVerdict(best, task.answer));
  return {
    direct,
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
  const resultBytes = calls.reduce((sum, { bytes }) => sum + bytes, 0);
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

/** What is left to know of a result that was cut. */
function leftOf(result: CallResult, { cutTokens, count }: ComparisonRequest): unknown {
  const text = cutText(result.text, cutTokens, count);
  const value = valueOf(result);
  return text === result.text ? value : cutValue(value, text.length);
}

/** A tool that was made for the question returns the answer itself. */
function bestVerdict({ turns }: RanConversation, answer: unknown): Verdict {
  const last = turns.flatMap(({ results }) => results).at(-1);
  return last && !last.isError && isDeepStrictEqual(valueOf(last), answer) ? "right" : "wrong";
}

function notesOf(
  { task, wires }: ComparisonRequest,
  { outcomes, layers }: RanConversation,
  probed: RanConversation,
  verdicts: ReadonlyMap<Mode, Verdict>,
  barred: readonly string[],
): string[] {
  const outcome = outcomes.at(-1);
  const calls = layers.flat().length;
  const given = task.direct ?? layers;
  return [
    ...(outcome?.type === "completed"
      ? []
      : [`The program did not complete (${outcome?.type ?? "it was not run"}): mend it, then compare.`]),
    ...(probed.outcomes[0]?.type === "completed"
      ? []
      : ["The program that looks at samples did not complete: a look that succeeds costs more."]),
    ...(barred.length > 0 ? [`Direct calls were not measured, for only programs may call ${barred.join(", ")}.`] : []),
    ...(new Set([verdicts.get("programmatic"), verdicts.get(HEADLINE), verdicts.get("programmatic+retry")]).size > 1
      ? [
          "The same program gave different answers: a tool, or the program, does not do the same each time. Give it data that stays, then compare.",
        ]
      : []),
    ...(verdicts.get(BASELINE) === "unchecked"
      ? [
          "Whether the direct calls lead to the answer is unchecked, for the program makes a call that is not among them: let both make the same calls.",
        ]
      : []),
    ...(given.flat().length > calls || given.length > layers.length
      ? [
          `The direct calls that were given are ${given.flat().length} in ${given.length} steps, the program makes ${calls} in ${layers.length}: a comparison with wasteful ones flatters the program.`,
        ]
      : []),
    ...(!task.direct && layers.length > 2
      ? [
          `The program makes its ${calls.toLocaleString("en-US")} calls in ${layers.length} steps, one after the other, so direct calls are counted so too. Where they do not need each other's answers, use Promise.all, or give the task its direct calls.`,
        ]
      : []),
    ...(wires.every(({ exact }) => exact)
      ? []
      : ["Tokens of Claude and Gemini are estimates: their encodings are not public."]),
  ];
}
