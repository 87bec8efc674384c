import { onTestFinished } from "vitest";
import {
  type AgentEvent,
  type AgentOptions,
  type AgentReport,
  type RuntimeOptions,
  type Tool,
} from "../../src/index.ts";
import type { Transcript } from "../../src/runtime/reports.ts";
import { readTranscript } from "../../src/conversations/from-journal/parse-message.ts";
import type { Journal, JournalRecord } from "../../src/journal/index.ts";
import type { Model, ModelConversation } from "../../src/models/index.ts";
import {
  type ScriptedModel,
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptedStep,
} from "../../src/runtime/testing.ts";
import { runtimeWith } from "../support/runtime.ts";

/** Answers with all results, and with the first one. */
export const TEXTS: ScriptedStep = ({ results }) => ({ text: results.map(({ text }) => text).join("|") });
export const FIRST: ScriptedStep = ({ results }) => ({ text: results[0]?.text ?? "" });

export interface Talked extends AgentReport {
  readonly model: ScriptedModel;
  readonly events: readonly AgentEvent[];
  readonly records: readonly JournalRecord[];
}

export type TalkOptions = Omit<Partial<AgentOptions>, "model"> &
  Pick<RuntimeOptions, "tools"> & { readonly scripted?: ScriptedModelOptions };

/** Gives the model of a script a task in a runtime with these tools, and everything that can be seen of it. */
export async function talk(
  script: readonly ScriptedStep[],
  { tools, scripted, ...options }: TalkOptions,
): Promise<Talked> {
  const { approve } = options;
  await using runtime = await runtimeWith(tools, approve && { approve });
  const model = scriptedModel(script, scripted);
  const events: AgentEvent[] = [];
  const report = await runtime.agent({ model, task: "Do it.", onEvent: (event) => events.push(event), ...options });
  return { ...report, model, events, records: await Array.fromAsync(runtime.journal.read(report.execution)) };
}

/** A runtime that is closed after the test, and leaves all decisions to others. */
export async function runtimeOf(journal: Journal, tools: readonly Tool[]) {
  const runtime = await runtimeWith(tools, { journal, approve: () => "later", leaseMs: 100 });
  onTestFinished(() => runtime[Symbol.asyncDispose]());
  return runtime;
}

/** A model whose conversations are changed before they are used. */
export function changed<Changed extends Model>(
  model: Changed,
  change: (conversation: ModelConversation, said: Pick<ModelConversation, "say" | "turn">) => void,
): Changed {
  return {
    ...model,
    async converse(opening: Parameters<Model["converse"]>[0]) {
      const conversation = await model.converse(opening);
      change(conversation, { say: conversation.say.bind(conversation), turn: conversation.turn.bind(conversation) });
      return conversation;
    },
  };
}

/** Throws for a transcript that cannot be gone on from. */
export function checkTranscript(transcript: Transcript): void {
  const reading = readTranscript(transcript, "it");
  while (reading.next().done !== true);
}

/** What the model was answered before a turn, in the order of its calls. */
export function resultsBefore({ model }: Talked, turn: number) {
  return model.conversations[0]?.[turn]?.results ?? [];
}
