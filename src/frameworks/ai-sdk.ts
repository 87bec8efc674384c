import { jsonSchema, type Schema } from "../tools/schema.ts";
import { CONTINUE_TOOL, type PausingTools, type LoopCall } from "./approval/pausing-tools.ts";
import { type LoopTool, type RunOptions, runWithProgress } from "./program-tool.ts";
import { fieldOf, isFields, listOf, quickKey, textOf } from "../base/index.ts";
import type { LoopRule, LoopVerdict } from "./approval/waiting-programs.ts";

/** A tool of the AI SDK, with the fields that `tool()` takes. */
export interface AiSdkProgramTool<Input = { readonly code: string }> {
  readonly description: string;
  readonly inputSchema: Schema<Input>;
  /**
   * Mastra takes the result as a promise of the text for the model. The AI SDK takes it as an iterable: this yields how far
   * the program has come, as preliminary results, and at last the text. Both reject if the program failed.
   */
  readonly execute: (input: Input, options?: AiSdkCallOptions) => AsyncIterable<string> & Promise<string>;
  /** With `toolApproval`, for that of `generateText` and `streamText`: its reason says what the person is asked. */
  readonly approval?: AiSdkApproval<Input>;
  /** With `toolApproval`: asked by the AI SDK if its own `toolApproval` does not name this tool. */
  readonly needsApproval?: (input: Input, options: AiSdkCallOptions) => Promise<boolean>;
}

export type AiSdkApproval<Input> = (
  input: Input,
  options: AiSdkCallOptions,
) => Promise<"not-applicable" | { readonly type: "user-approval"; readonly reason: string }>;

export interface AiSdkCallOptions {
  readonly abortSignal?: AbortSignal | undefined;
  readonly toolCallId?: string | undefined;
  readonly messages?: readonly unknown[] | undefined;
}

export function aiSdkTool<Input>(tool: LoopTool): AiSdkProgramTool<Input> {
  return Object.assign(declared<Input>(tool), {
    execute: (input: Input, { abortSignal }: AiSdkCallOptions = {}) => running(tool, input, abortSignal),
  });
}

function declared<Input>(tool: Pick<LoopTool, "description" | "schema">) {
  return {
    get description() {
      return tool.description;
    },
    inputSchema: jsonSchema<Input>(tool.schema),
  };
}

function running(tool: Pick<LoopTool, "run">, input: unknown, abortSignal: AbortSignal | undefined) {
  // A loop that stops reading the iterable cancels the program too.
  const cancellation = new AbortController();
  const signal = abortSignal ? AbortSignal.any([abortSignal, cancellation.signal]) : cancellation.signal;
  const { running, progress } = runWithProgress(tool, input, signal);
  return Object.assign(running, {
    async *[Symbol.asyncIterator](): AsyncGenerator<string, void> {
      try {
        yield* progress;
        yield await running;
      } finally {
        cancellation.abort();
      }
    },
  });
}

/** `run_program` and `continue_program`, whose calls a person approves by the AI SDK's own means. */
export function aiSdkPausingTools(program: LoopTool, pausing: PausingTools, toolApproval: ToolApproval) {
  const toolOf = <Input>(about: Pick<LoopTool, "name" | "description" | "schema">): AiSdkProgramTool<Input> => {
    const { name } = about;
    const goingOf = ({ messages = [] }: AiSdkCallOptions, work: RunOptions = {}) => ({
      ...work,
      rule: aiSdkRule(toolApproval, messages),
    });
    const callOf = (input: unknown, { toolCallId = "", messages = [] }: AiSdkCallOptions) =>
      callIn(messages, { name, callId: toolCallId, input });
    const approval: AiSdkApproval<Input> = async (input, options) => {
      for (const { call, reason } of deniedCalls(options.messages ?? [])) await pausing.deny(call, reason);
      const question = await pausing.question(callOf(input, options), goingOf(options));
      return question === undefined ? "not-applicable" : { type: "user-approval", reason: question };
    };
    return Object.assign(declared<Input>(about), {
      approval,
      needsApproval: async (input: Input, options: AiSdkCallOptions) =>
        (await approval(input, options)) !== "not-applicable",
      execute: (input: Input, options: AiSdkCallOptions = {}) => {
        const call = callOf(input, options);
        const run = (_: unknown, work: RunOptions) => pausing.run(call, goingOf(options, work), call.isApproved);
        return running({ run }, input, options.abortSignal);
      },
    });
  };
  return {
    run_program: toolOf<{ readonly code: string }>(program),
    [CONTINUE_TOOL.name]: toolOf<{ readonly program: string }>(CONTINUE_TOOL),
  };
}

type Status = undefined | string | { readonly type: string; readonly reason?: string };

/**
 * `toolApproval` of `generateText` and `streamText`: a function that is asked about every call, or statuses and functions
 * by the names of tools.
 */
export type ToolApproval =
  | ((options: {
      readonly toolCall: {
        readonly type: "tool-call";
        readonly toolCallId: string;
        readonly toolName: string;
        readonly input: unknown;
      };
      readonly messages: readonly unknown[];
    }) => unknown)
  | Readonly<Record<string, unknown>>;

/** The AI SDK's rule about the calls of a program: it is asked as about a call of a model. */
function aiSdkRule(toolApproval: ToolApproval, messages: readonly unknown[]): LoopRule {
  return async ({ callId, tool, input }) => {
    if (typeof toolApproval === "function") {
      const toolCall = { type: "tool-call", toolCallId: callId, toolName: tool, input } as const;
      return verdictOf((await toolApproval({ toolCall, messages })) as Status);
    }
    const own = fieldOf(toolApproval, tool);
    const ask = own as (input: unknown, options: object) => unknown;
    return verdictOf((typeof own === "function" ? await ask(input, { toolCallId: callId, messages }) : own) as Status);
  };
}

function verdictOf(status: Status): LoopVerdict {
  const { type, reason } = typeof status === "object" ? status : { type: status, reason: undefined };
  switch (type) {
    case undefined:
    case "not-applicable":
      return "unruled";
    case "approved":
      return "approved";
    case "denied":
      return { deny: typeof reason === "string" ? reason : "It was denied by toolApproval." };
    case "user-approval":
      return "ask";
    default:
      // The gate denies what it does not know, and tells the operator what it was.
      return status as unknown as LoopVerdict;
  }
}

/** What the messages of a conversation say of a call: whether it was asked about, and whether a person has approved it. */
export function callIn(
  messages: readonly unknown[],
  { name, callId, input }: Pick<LoopCall, "name" | "callId" | "input">,
): LoopCall & { readonly isApproved: boolean } {
  const { answered, toolCalls, responses } = readMessages(messages);
  const call = { name, callId, input, answered: answered.get(quickKey(callId)) ?? 0 };
  const isMine = (one: LoopCall) => one.callId === callId && one.answered === call.answered;
  const mine = responses.filter((one) => isMine(one.call));
  // Of several calls with one id, nobody knows which one the person was shown.
  const isOnly = toolCalls.filter(isMine).length === 1;
  return { ...call, isAsked: mine.length > 0, isApproved: isOnly && mine.at(-1)?.approved === true };
}

/** The calls that a person has denied, with the reasons. */
function deniedCalls(messages: readonly unknown[]): readonly Response[] {
  return readMessages(messages).responses.filter(({ approved }) => !approved);
}

interface Response {
  readonly call: LoopCall;
  readonly approved: boolean;
  readonly reason: string | undefined;
}

/** The results by the `quickKey` of each call id so far, and what persons have answered about calls. An id may be that of several calls. */
function readMessages(messages: readonly unknown[]) {
  const toolCalls: LoopCall[] = [];
  const calls = new Map<unknown, LoopCall>();
  const asked = new Map<unknown, LoopCall>();
  const answered = new Map<unknown, number>();
  const responses: Response[] = [];
  for (const part of messages.flatMap((message) => listOf(message, "content")).filter(isFields)) {
    const callId = textOf(part, "toolCallId") ?? "";
    const key = quickKey(callId);
    const approvalKey = quickKey(textOf(part, "approvalId"));
    const call = part["type"] === "tool-approval-response" ? asked.get(approvalKey) : calls.get(key);
    switch (part["type"]) {
      case "tool-call": {
        const about = { name: textOf(part, "toolName") ?? "", callId, input: fieldOf(part, "input") };
        toolCalls.push({ ...about, answered: answered.get(key) ?? 0, isAsked: true });
        calls.set(key, toolCalls.at(-1)!);
        break;
      }
      case "tool-result":
        answered.set(key, (answered.get(key) ?? 0) + 1);
        break;
      case "tool-approval-request":
        if (call) asked.set(approvalKey, call);
        break;
      case "tool-approval-response":
        if (call)
          responses.push({ call, approved: fieldOf(part, "approved") === true, reason: textOf(part, "reason") });
        break;
    }
  }
  return { answered, toolCalls, responses };
}
