import { MAX_TURN_CALLS } from "../../agent/from-journal/transcript.ts";
import type { Mode, Verdict } from "../comparison.ts";
import { sum } from "../accounting/count-exchange.ts";
import { cutText, cutValue, TOKEN_LENGTH } from "./cut-result.ts";
import type { CallResult } from "../../models/model.ts";
import { type ScriptedTurn, scriptedModel } from "../../models/scripted.ts";
import { createMemoryJournal } from "../../journal/memory-journal.ts";
import { HOST, readRecords } from "../../journal/reading/read-records.ts";
import type { Outcome } from "../../programs/outcome.ts";
import { callsOf, type MadeCall } from "./calls-of.ts";
import { LIMIT_RULES, type Limits } from "../../programs/limits.ts";
import type { Tool } from "../../tools/tool.ts";
import { isVisible, type ToolSet } from "../../tools/tool-set.ts";
import { answerFrom, judge, type Judgement, judgeValue } from "./answer-from.ts";
import { notesOf } from "./comparison-notes.ts";
import type { ComparisonRequest } from "../compare-options.ts";
import type { PlannedCall } from "../comparison-task.ts";
import { withoutSideEffects } from "../without-side-effects.ts";
import { optionError } from "../../errors.ts";
import { MAX_TURNS } from "../../agent/agent-options.ts";
import { recordOpening } from "../record-opening.ts";
import type { ComparisonContext, ConversationRun } from "./conversation-run.ts";
import type { ProgramsOption } from "../../agent/prompt/programs-option.ts";

/** All conversations of one task. */
export type TaskRun = Awaited<ReturnType<typeof runTask>>;

/** Runs every conversation of a comparison, and decides for each whether the right answer follows from its results. */
export async function runTask(context: ComparisonContext, request: ComparisonRequest) {
  const { runtime, scope } = context;
  const { task, onProgress, windowTokens } = request;
  const converse = (programs: ProgramsOption, script: readonly ScriptedTurn[], further?: readonly Tool[]) =>
    haveConversation(context, task.question, programs, script, further);
  const answerTurn: ScriptedTurn = { text: JSON.stringify(task.answer) };
  const program: ScriptedTurn = { programs: [task.program] };

  const programmatic = await converse("local", [program, answerTurn]);
  const { layers } = programmatic;
  onProgress("programmatic");
  const reads = layers.flat().filter(({ tool }) => runtime.tools.get(tool)?.effect === "read");
  const isStream = (tool: string) => runtime.tools.get(tool)?.stream === true;
  const probe = { programs: [probingProgram(reads, scope.language, isStream)] };
  const probed = await converse("local", [probe, program, answerTurn]);
  onProgress("programmatic+probe");
  const failing = { programs: [failingProgram(task.program, scope.language)] };
  const retried = await converse("local", [failing, program, answerTurn]);
  onProgress("programmatic+retry");

  const plan = task.direct?.map((layer) => layer.map(toCall)) ?? layers;
  checkLayers(plan, task.best?.calls ?? []);
  const barred = notForDirectCalls(runtime.tools, plan.flat());
  const streams = barred.filter(isStream);
  // However the tokens fall, a context would have more of them than a window holds.
  const overflows = streams.length > 0 && programmatic.resultBytes > windowTokens * TOKEN_LENGTH;
  const direct =
    barred.length > 0
      ? undefined
      : mergeParts(plan, await converse("none", [...plan.flatMap(partsOf).map((calls) => ({ calls })), answerTurn]));
  onProgress("direct-unlimited");
  const bestTurns = task.best?.calls.map((layer) => ({ calls: layer.map(toCall) }));
  const best = bestTurns && (await converse("none", [...bestTurns, answerTurn], task.best?.tools));
  if (best) onProgress("direct-best-tool");

  const judgements = new Map<Mode, Judgement>([
    ["programmatic", judge(programmatic.outcomes.at(-1), task.answer)],
    ["programmatic+probe", judge(probed.outcomes.at(-1), task.answer)],
    ["programmatic+retry", judge(retried.outcomes.at(-1), task.answer)],
  ]);
  const truncated = direct && cutResults(direct, request);
  if (direct && truncated) {
    const whole = await answerFrom(context, task, direct.turns, valueOf);
    for (const mode of ["direct-seq", "direct-parallel", "direct-unlimited"] as const) judgements.set(mode, whole);
    const left = truncated === direct ? whole : await answerFrom(context, task, direct.turns, leftBy(truncated));
    // The whole results lead to the answer, and the cut results lack the input of a later call: the cut lost the
    // answer.
    const isLost = whole.verdict === "right" && left.verdict === "unchecked";
    judgements.set("direct-truncated", isLost ? { verdict: "wrong" } : left);
  }
  if (best) judgements.set("direct-best-tool", judgeBest(best, task.answer));
  return {
    /** Direct calls, one layer a turn. Undefined if one of the tools may not be called directly. */
    direct,
    /** `direct` with each result cut. */
    truncated,
    best,
    programmatic,
    probed,
    retried,
    verdicts: new Map<Mode, Verdict>([...judgements].map(([mode, { verdict }]) => [mode, verdict])),
    /** Direct calls, in layers. */
    plan,
    /** Tools of the plan that only programs may call. */
    barred,
    /** Whether streams that only programs may call are too long for any context. */
    overflows,
    notes: notesOf(request, programmatic, probed, judgements, barred, overflows),
  };
}

/** Each layer is one turn of a conversation, and the answer needs one turn more. */
function checkLayers(direct: readonly unknown[], best: readonly unknown[]): void {
  for (const [field, { length }] of Object.entries({ "task.direct": direct, "task.best.calls": best }))
    if (length >= MAX_TURNS.max) throw optionError(field, `fewer than ${MAX_TURNS.max} layers of calls`, length);
}

/** Runs a conversation in a derived runtime with a separate journal, so that the runtime's journal holds no measurements. */
async function haveConversation(
  { runtime, scope }: ComparisonContext,
  question: string,
  programs: ProgramsOption,
  script: readonly ScriptedTurn[],
  further: readonly Tool[] = [],
): Promise<ConversationRun> {
  const tools = [...runtime.tools.all, ...further]
    .map(withoutSideEffects)
    .map((tool) => (programs === "local" ? leftToPrograms(tool) : tool));
  const journal = createMemoryJournal({ keepLength: Number.POSITIVE_INFINITY });
  await using own = runtime.derive({ tools, journal });
  const { model, opening } = recordOpening(scriptedModel(script));
  const outcomes: Outcome[] = [];
  let lastProgram: string | undefined;
  const { transcript, calls } = await own.agent({
    ...scope,
    model,
    task: question,
    programs,
    maxTurns: script.length,
    maxTokens: Number.MAX_SAFE_INTEGER,
    wrapUp: false,
    limits: programs === "none" ? DIRECT_LIMITS : scope.limits,
    onEvent(event) {
      if (event.type === "execution_started") lastProgram = event.execution;
      if (event.type === "program_ended" && event.outcome) outcomes.push(event.outcome);
    },
  });
  scope.signal.throwIfAborted();
  return {
    opening: opening(),
    turns: transcript.turns,
    outcomes,
    layers: lastProgram === undefined ? [] : callsOf(await Array.fromAsync(readRecords(journal, lastProgram, HOST))),
    resultBytes: sum(calls.map(({ bytes }) => bytes)),
  };
}

function notForDirectCalls(tools: ToolSet, calls: readonly MadeCall[]): readonly string[] {
  const names = new Set(calls.map(({ tool }) => tool));
  return tools.all.filter((tool) => names.has(tool.name) && !isVisible(tool, ["direct"])).map(({ name }) => name);
}

/** The highest limits that the rules allow, so that results of direct calls are not cut. */
const DIRECT_LIMITS: Partial<Limits> = {
  outputBytes: LIMIT_RULES.outputBytes.max,
  totalBytes: LIMIT_RULES.totalBytes.max,
  calls: LIMIT_RULES.calls.max,
  wallMs: LIMIT_RULES.wallMs.max,
};

/** Leaves a tool for both callers to programs only, because this conversation measures programs. */
function leftToPrograms(tool: Tool): Tool {
  return isVisible(tool, ["programmatic"]) ? { ...tool, allowedCallers: ["programmatic"] } : tool;
}

function toCall({ tool, input }: PlannedCall): MadeCall {
  return { tool, inputText: JSON.stringify(input) };
}

/** A layer in parts that one turn may make. */
function partsOf(layer: readonly MadeCall[]): readonly (readonly MadeCall[])[] {
  return Array.from({ length: Math.ceil(layer.length / MAX_TURN_CALLS) }, (_, part) =>
    layer.slice(part * MAX_TURN_CALLS, (part + 1) * MAX_TURN_CALLS),
  );
}

/** The conversation with one turn per layer: how many calls one turn may make is a rule for models, and is not measured. */
function mergeParts(layers: readonly (readonly MadeCall[])[], run: ConversationRun): ConversationRun {
  const left = [...run.turns];
  const turns = layers.flatMap((layer) => {
    const [first, ...others] = left.splice(0, partsOf(layer).length);
    if (!first) return [];
    const calls = [first, ...others].flatMap(({ turn }) => turn.calls);
    return [{ turn: { ...first.turn, calls }, results: [first, ...others].flatMap(({ results }) => results) }];
  });
  return { ...run, turns: [...turns, ...left] };
}

function valueOf({ text }: CallResult): unknown {
  return JSON.parse(text);
}

/** The conversation with each result cut, or the conversation itself if no result is long enough. */
function cutResults(direct: ConversationRun, { cutTokens, count }: ComparisonRequest): ConversationRun {
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

/** Maps a result to the value that can still be read from it in this conversation. */
function leftBy({ turns }: ConversationRun): (result: CallResult) => unknown {
  const left = new Map(turns.flatMap(({ results }) => results.map((result) => [result.callId, result])));
  return (result) => {
    const { text } = left.get(result.callId) ?? result;
    const value = valueOf(result);
    return text === result.text ? value : cutValue(value, text.length);
  };
}

/** The last call of a tool made for the question must return the answer itself. */
function judgeBest({ turns }: ConversationRun, answer: unknown): Judgement {
  const last = turns.flatMap(({ results }) => results).at(-1);
  return last && !last.isError ? judgeValue(valueOf(last), answer) : { verdict: "wrong" };
}

/** UTF-16 code units of each sample that a probing program looks at. */
const SAMPLE_LENGTH = 600;

type Language = ComparisonContext["scope"]["language"];

/** A program that returns a sample of one result of each tool, as a model writes it before it knows the results. */
export function probingProgram(
  calls: readonly MadeCall[],
  language: Language,
  isStream: (tool: string) => boolean = () => false,
): string {
  const first = new Map<string, string>();
  for (const { tool, inputText } of calls) if (!first.has(tool)) first.set(tool, inputText);
  const python = language === "python";
  const samples = [...first].map(([tool, inputText]) => {
    const name = JSON.stringify(tool);
    if (isStream(tool)) return firstItem(tool, inputText, language);
    return python
      ? `  ${name}: json.dumps(await tools.${tool}(**json.loads(${JSON.stringify(inputText)})))[:${SAMPLE_LENGTH}],\n`
      : `  ${name}: JSON.stringify(await tools.${tool}(${inputText})).slice(0, ${SAMPLE_LENGTH}),\n`;
  });
  return python ? `import json\nreturn {\n${samples.join("")}}\n` : `return {\n${samples.join("")}};\n`;
}

/** A field of a probing program: the first item of a stream. */
function firstItem(tool: string, inputText: string, language: Language): string {
  const name = JSON.stringify(tool);
  return language === "python"
    ? `  ${name}: json.dumps(await anext(aiter(tools.${tool}(**json.loads(${JSON.stringify(inputText)})))))[:${SAMPLE_LENGTH}],\n`
    : `  ${name}: await (async () => { for await (const item of tools.${tool}(${inputText})) return JSON.stringify(item).slice(0, ${SAMPLE_LENGTH}); })(),\n`;
}

/** The program with a usual mistake of models in front: it reads a field that the result does not have. */
export function failingProgram(source: string, language: Language): string {
  return language === "python"
    ? `rows = [].rows\n${source}`
    : `{ const { length } = (await Promise.resolve([])).rows; }\n${source}`;
}
