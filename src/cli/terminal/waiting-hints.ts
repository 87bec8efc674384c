import type { Waiting } from "../../programs/waiting.ts";
import { oneLine } from "./one-line.ts";

/** The commands that bring an execution or a conversation further, one for each call that it waits for. */
export function waitingHints(execution: string, { approvals, calls }: Waiting): readonly string[] {
  const id = oneLine(execution);
  return [
    ...approvals.map(
      ({ callId }) => `portcullis: decide with: portcullis decide ${id} ${oneLine(callId)} --allow (or --deny)`,
    ),
    ...calls.map(({ callId }) => `portcullis: answer with: portcullis resume ${id} --result ${oneLine(callId)}=JSON`),
  ];
}
