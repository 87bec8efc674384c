import type { TranscriptTurn } from "../conversations/from-journal/index.ts";
import { createMemoryJournal } from "../journal/memory-journal.ts";
import type { JournalRecord } from "../journal/record.ts";
import type { CallResult, Opening } from "../models/model.ts";
import { type ScriptedTurn, scriptedModel } from "../models/scripted.ts";
import { pastTurns } from "../executions/from-journal/index.ts";
import { LIMIT_RULES } from "../executions/limits.ts";
import type { Outcome } from "../executions/outcome.ts";
import type { Runtime } from "../runtime/create-runtime.ts";
import type { Tool } from "../tools/tool.ts";
import { commentLine } from "../tools/declarations/one-line.ts";
import { isVisible } from "../tools/tool-set.ts";
import type { ComparedConversation } from "./requests.ts";
import { type ComparisonTask, differenceFrom, withoutSideEffects } from "./task.ts";
import { sum } from "./tokens.ts";

/**
 * The compared ways to do a task, all with the same tools, question and answer: up to ten calls a turn, the baseline that
 * programs are compared with; one program that is right at the first try, the best case; the same after a program that reads
 * samples of the results.
 */
export type Mode = "direct-parallel" | "programmatic" | "programmatic+probe";

interface PlannedCall {
  readonly tool: string;
  readonly input: unknown;
}

/** Calls that need only the results of the layers before. */
type Layers = readonly (readonly PlannedCall[])[];

/** Calls that a model makes in one turn. */
export const CALLS_AT_ONCE = 10;
/** Length of the longest token in the encodings used (a row of spaces), in UTF-16 code units. */
export const TOKEN_LENGTH = 128;

interface ComparisonContext {
  readonly runtime: Runtime;
  /** Also aborts when the runtime closes. */
  readonly signal: AbortSignal;
  readonly windowTokens: number;
}

interface Conversation extends ComparedConversation {
  readonly outcomes: readonly Outcome[];
  readonly layers: Layers;
  /** UTF-8 bytes of JSON that tools returned. */
  readonly resultBytes: number;
  /** Calls that had no value. */
  readonly failedCalls: number;
}

/** All conversations of one task. */
export type TaskRun = Awaited<ReturnType<typeof runTask>>;

/** Has every conversation of a comparison, and says of each why it does not lead to the right answer. */
export async function runTask(context: ComparisonContext, task: ComparisonTask) {
  const { runtime, windowTokens } = context;
  const conversations = new Map<Mode, Conversation & { readonly fault: string | undefined }>();
  const have = async (mode: Mode, script: readonly ScriptedTurn[], faultOf: FaultOf) => {
    const run = await converse(context, task, mode, [...script, { text: JSON.stringify(task.answer) }]);
    const judged = { ...run, fault: faultOf(run, task) };
    conversations.set(mode, judged);
    return judged;
  };
  const program = { programs: [task.program] };
  const programmatic = await have("programmatic", [program], programFault);
  const calls = programmatic.layers.flat();
  const probe = { programs: [probingProgram(runtime, calls)] };
  const probed = await have("programmatic+probe", [probe, program], programFault);
  const called = new Set(calls.map(({ tool }) => tool));
  const programOnly = runtime.tools.all.filter((tool) => called.has(tool.name) && !isVisible(tool, ["direct"]));
  const overflows = programOnly.some(({ stream }) => stream) && programmatic.resultBytes > windowTokens * TOKEN_LENGTH;
  // The same calls lead to the same answer.
  const directFault: FaultOf = ({ failedCalls }) =>
    failedCalls > programmatic.failedCalls ? "calls fail that do not fail in the program" : programmatic.fault;
  if (!overflows) await have("direct-parallel", turnsOf(programmatic.layers), directFault);
  return {
    conversations,
    programmatic,
    probed,
    programOnly: programOnly.map(({ name }) => name),
    /** Whether such tools gave streams that are too long for any context, however the tokens fall. */
    overflows,
  };
}

/** Why a conversation does not lead to the right answer; undefined if it does. */
type FaultOf = (run: Conversation, task: ComparisonTask) => string | undefined;

function programFault({ outcomes, turns }: Conversation, { answer }: ComparisonTask): string | undefined {
  const outcome = outcomes.at(-1);
  if (outcome?.type === "completed") return differenceFrom(answer, outcome.value);
  const [firstLine = ""] = turns.at(-2)?.results[0]?.text.split("\n", 1) ?? [];
  return firstLine === "" ? "no program was run" : commentLine(firstLine, 300);
}

function turnsOf(layers: Layers): readonly ScriptedTurn[] {
  return layers.flatMap((layer) =>
    Array.from({ length: Math.ceil(layer.length / CALLS_AT_ONCE) }, (_, turn) => ({
      calls: layer.slice(turn * CALLS_AT_ONCE, (turn + 1) * CALLS_AT_ONCE),
    })),
  );
}

/** Has a conversation in a derived runtime with a separate journal, so that the runtime's journal holds no measurements. */
async function converse(
  { runtime, signal }: ComparisonContext,
  { question }: ComparisonTask,
  mode: Mode,
  script: readonly ScriptedTurn[],
): Promise<Conversation> {
  const isDirect = mode === "direct-parallel";
  const tools = runtime.tools.all.map(withoutSideEffects).map(isDirect ? openToModels : leftToPrograms);
  const journal = createMemoryJournal({ keepLength: Number.POSITIVE_INFINITY });
  await using own = runtime.derive({ tools, journal });
  const model = scriptedModel(script);
  const outcomes: Outcome[] = [];
  let lastProgram: string | undefined;
  const { transcript, calls } = await own.agent({
    signal,
    model,
    task: question,
    programs: isDirect ? "none" : "local",
    loop: { maxTurns: script.length, maxTokens: Number.MAX_SAFE_INTEGER, wrapUp: false },
    limits: isDirect ? DIRECT_LIMITS : undefined,
    onEvent(event) {
      if (event.type === "execution_started") lastProgram = event.execution;
      if (event.type === "program_ended" && event.outcome) outcomes.push(event.outcome);
    },
  });
  signal.throwIfAborted();
  const { opening } = model.conversations[0]![0]!;
  return {
    ...(isDirect ? asPlainLoop(opening, transcript.turns) : { opening, turns: transcript.turns }),
    outcomes,
    layers: lastProgram === undefined ? [] : callsOf(await own.execution(lastProgram).records()),
    resultBytes: sum(calls.map(({ bytes }) => bytes)),
    failedCalls: calls.filter(({ outcome }) => outcome.type !== "value").length,
  };
}

const DIRECT_LIMITS = {
  outputBytes: LIMIT_RULES.outputBytes.max,
  totalBytes: LIMIT_RULES.totalBytes.max,
  calls: LIMIT_RULES.calls.max,
  wallMs: LIMIT_RULES.wallMs.max,
};

/** What only programs may call is measured as if models might: the scripted model makes the program's calls and no others. */
function openToModels(tool: Tool): Tool {
  return { ...tool, allowedCallers: [...new Set([...tool.allowedCallers, "direct" as const])] };
}

/** Leaves a tool for both callers to programs only, because this conversation measures programs. */
function leftToPrograms(tool: Tool): Tool {
  return isVisible(tool, ["programmatic"]) ? { ...tool, allowedCallers: ["programmatic"] } : tool;
}

/** Direct calls without this package's instructions and labels, as a plain loop sends them: the measure of programs. */
function asPlainLoop(opening: Opening, turns: readonly TranscriptTurn[]): ComparedConversation {
  // A provider's block may need a word in the text for `isError`.
  const plain = ({ callId, text, isJson, provenance: { tool, bytes } }: CallResult): CallResult => {
    return { callId, text, isJson, isError: false, provenance: { tool, bytes } };
  };
  return {
    opening: { ...opening, instructions: "" },
    turns: turns.map((one) => ({ ...one, results: one.results.map(plain) })),
  };
}

/**
 * The calls of a journalled program, in layers. The calls of a layer can depend only on answers and items to earlier
 * layers. A program that awaits each call before the next has one layer per call, even if the calls were independent.
 */
function callsOf(records: readonly JournalRecord[]): Layers {
  const layers: PlannedCall[][] = [];
  const layerOf = new Map<number, number>();
  // A timer's turn has no answer of its own: its calls are placed after all answers so far.
  let latest = 0;
  for (const { event, commands } of pastTurns(records)) {
    const eventLayer = event.kind === "answer" || event.kind === "items" ? (layerOf.get(event.id) ?? 0) + 1 : undefined;
    latest = Math.max(latest, eventLayer ?? 0);
    const layer = eventLayer ?? latest;
    for (const command of commands) {
      if (command.kind !== "call") continue;
      layerOf.set(command.id, layer);
      (layers[layer] ??= []).push({ tool: command.tool, input: JSON.parse(command.body) as unknown });
    }
  }
  return layers.filter((layer) => layer !== undefined);
}

const SAMPLE_LENGTH = 600;

/** A program that returns a sample of one result of each tool, as a model writes it before it knows the results. */
function probingProgram({ tools }: Runtime, calls: readonly PlannedCall[]): string {
  const samples = [...Map.groupBy(calls, ({ tool }) => tool)].flatMap(([tool, [first]]) => {
    const { effect, stream: isStream } = tools.get(tool) ?? {};
    if (effect !== "read") return [];
    const call = `tools.${tool}(${JSON.stringify(first!.input)})`;
    const sampleOf = (value: string) => `JSON.stringify(${value}).slice(0, ${SAMPLE_LENGTH})`;
    const ofStream = `await (async () => { for await (const item of ${call}) return ${sampleOf("item")}; })()`;
    return `  "${tool}": ${isStream ? ofStream : sampleOf(`await ${call}`)},\n`;
  });
  return `return {\n${samples.join("")}};\n`;
}
