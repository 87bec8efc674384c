import type { Transcript } from "portcullis/reports";

/** The three types of messages that a conversation with tools is made of, whatever a provider calls them. */
export type Message =
  | { readonly type: "user"; readonly text: string }
  /** What the model says: text, calls, or both. A message without calls ends the loop. */
  | { readonly type: "assistant"; readonly text: string; readonly calls: readonly Call[] }
  /** The result of one call, under the call's id. */
  | { readonly type: "tool"; readonly callId: string; readonly isError: boolean; readonly text: string };

interface Call {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

export function messagesOf({ task, turns }: Transcript): readonly Message[] {
  return [
    { type: "user", text: task },
    ...turns.flatMap(({ turn, results }): readonly Message[] => [
      {
        type: "assistant",
        text: turn.text,
        calls: turn.calls.flatMap((call) =>
          call.type === "tool_call"
            ? [{ id: call.id, tool: call.tool, input: JSON.parse(call.inputText) as unknown }]
            : [],
        ),
      },
      ...results.map(({ callId, isError, text }) => ({ type: "tool" as const, callId, isError, text })),
    ]),
  ];
}
