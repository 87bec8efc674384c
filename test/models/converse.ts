import type {
  CallResult,
  ModelConversation,
  Model,
  ModelTurn,
  Opening,
  ToolDeclaration,
  TurnReply,
  TurnRequest,
  UserMessage,
} from "../../src/models/model.ts";
import { TurnDisplay } from "../../src/models/turn/turn-display.ts";

const K = { type: "object", properties: { k: { type: "number" } }, required: ["k"] };

export function declared(name: string, callers: ToolDeclaration["callers"] = ["direct"]): ToolDeclaration {
  return { name, description: `Does ${name}.`, inputSchema: K, callers };
}

export const OPENING: Opening = {
  instructions: "Work.",
  tools: [declared("f"), declared("a.b")],
  runProgram: { name: "run_program", description: "Runs a program." },
  hosted: false,
};

export const HOSTED: Opening = {
  instructions: "Work.",
  tools: [declared("f"), declared("a.b", ["programmatic"])],
  hosted: true,
};

export function requested(changes: Partial<TurnRequest> = {}): TurnRequest {
  return { signal: new AbortController().signal, maxTokens: 1_000_000, onText: () => {}, ...changes };
}

/** A display that shows nothing, of a conversation with local programs. */
export const UNSHOWN = new TurnDisplay(requested(), { program: "run_program", own: (given) => given });

/** The reply, which must be a turn. */
export function turnOf(reply: TurnReply): ModelTurn {
  if (reply.type !== "turn") throw new Error(`There is no turn: ${JSON.stringify(reply)}`);
  return reply;
}

/** The first turn of a conversation, which answers "Do it.". */
export async function firstTurn(model: Model, opening: Opening, request?: Partial<TurnRequest>): Promise<TurnReply> {
  const conversation = await model.converse(opening);
  conversation.say("Do it.");
  return conversation.turn(requested(request));
}

/** One step of a conversation that its test drives by hand. */
export interface Step {
  /** Said before the turn is asked for. */
  readonly say?: UserMessage;
  readonly request?: Partial<TurnRequest>;
  /** What the calls of the turn get. */
  readonly results?: (call: ModelTurn["calls"][number]) => Partial<CallResult>;
}

export function resultOf(callId: string, changes: Partial<CallResult> = {}): CallResult {
  return { callId, text: "1", isJson: true, isError: false, provenance: { tool: "f", bytes: 1 }, ...changes };
}

/** Drives a conversation step by step, and gives its turns. */
export async function drive(model: Model, opening: Opening, steps: readonly Step[]): Promise<readonly ModelTurn[]> {
  const conversation = await model.converse(opening);
  const turns: ModelTurn[] = [];
  for (const step of steps) {
    begin(conversation, step);
    const turn = turnOf(await conversation.turn(requested(step.request)));
    conversation.answer(answersOf(turn, step));
    turns.push(turn);
  }
  return turns;
}

function begin(conversation: ModelConversation, { say }: Step): void {
  if (say !== undefined) conversation.say(say);
}

function answersOf(turn: ModelTurn, { results = () => ({}) }: Step): readonly CallResult[] {
  return turn.calls.map((call) => resultOf(call.id, results(call)));
}

/**
 * Drives a conversation, and once more for each of its turns: up to there restored from what a journal keeps, as JSON.
 * Gives for each turn the body that was sent, and the one that the restored conversation sends.
 */
export async function driveAndRestore(
  modelWith: (fetch: typeof globalThis.fetch) => Model,
  fetch: typeof globalThis.fetch,
  opening: Opening,
  steps: readonly Step[],
): Promise<{
  readonly turns: readonly ModelTurn[];
  readonly sent: readonly string[];
  readonly again: readonly string[];
}> {
  const sent: string[] = [];
  const record: { readonly turn: ModelTurn; readonly opaque: string | undefined }[] = [];
  const conversation = await modelWith(async (input, init) => {
    sent.push(await new Response(init?.body as string).text());
    return fetch(input, init);
  }).converse(opening);
  for (const step of steps) {
    begin(conversation, step);
    const turn = turnOf(await conversation.turn(requested(step.request)));
    record.push(JSON.parse(JSON.stringify({ turn, opaque: conversation.opaque })) as (typeof record)[number]);
    conversation.answer(answersOf(turn, step));
  }
  const again: string[] = [];
  for (const count of steps.keys()) {
    const restored = await modelWith(async (_, init) => {
      again.push(await new Response(init?.body as string).text());
      return new Response("{}", { status: 418 });
    }).converse(opening);
    for (const [index, step] of steps.slice(0, count).entries()) {
      begin(restored, step);
      const { turn, opaque } = record[index] ?? {};
      if (turn) restored.restore?.(turn, opaque);
      if (turn) restored.answer(answersOf(turn, step));
    }
    const step = steps[count] ?? {};
    begin(restored, step);
    await restored.turn(requested(step.request));
  }
  return { turns: record.map(({ turn }) => turn), sent, again };
}
