import { fieldOf, isFields, textOf } from "../../values/fields.ts";
import type { LoopRule, LoopVerdict } from "./loop-rule.ts";
import type { LoopCall } from "./pausing-tools.ts";

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
export function aiSdkRule(toolApproval: ToolApproval, messages: readonly unknown[]): LoopRule {
  return async ({ callId, tool, input }) => {
    const own = typeof toolApproval === "function" ? toolApproval : ownOf(toolApproval, tool);
    if (typeof toolApproval === "function") {
      const toolCall = { type: "tool-call", toolCallId: callId, toolName: tool, input } as const;
      return verdictOf((await toolApproval({ toolCall, messages })) as Status);
    }
    const status: unknown =
      typeof own === "function"
        ? await (own as (input: unknown, options: object) => unknown)(input, { toolCallId: callId, messages })
        : own;
    return verdictOf(status as Status);
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

function ownOf(record: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/** Whether the messages of a conversation say that a person has approved this call. */
export function isApprovedIn(messages: readonly unknown[], toolCallId: string | undefined): boolean {
  return responsesIn(messages).some(({ call, approved }) => approved && call.callId === toolCallId);
}

/** The calls that a person has denied, with the reasons. */
export function deniedCalls(
  messages: readonly unknown[],
): readonly { readonly call: LoopCall; readonly reason: string | undefined }[] {
  return responsesIn(messages).filter(({ approved }) => !approved);
}

interface Response {
  readonly call: LoopCall;
  readonly approved: boolean;
  readonly reason: string | undefined;
}

function responsesIn(messages: readonly unknown[]): readonly Response[] {
  const parts = messages.flatMap((message) => {
    const content = fieldOf(message, "content");
    return Array.isArray(content) ? (content as unknown[]).filter(isFields) : [];
  });
  const of = (type: string) => parts.filter((part) => part["type"] === type);
  const requested = new Map(
    of("tool-approval-request").map((part) => [textOf(part, "approvalId"), textOf(part, "toolCallId")]),
  );
  const calls = new Map(of("tool-call").map((part) => [textOf(part, "toolCallId"), part]));
  return of("tool-approval-response").flatMap((part): readonly Response[] => {
    const callId = requested.get(textOf(part, "approvalId"));
    const call = calls.get(callId);
    if (callId === undefined || !call) return [];
    const name = textOf(call, "toolName") ?? "";
    return [
      {
        call: { name, callId, input: fieldOf(call, "input") },
        approved: fieldOf(part, "approved") === true,
        reason: textOf(part, "reason"),
      },
    ];
  });
}
