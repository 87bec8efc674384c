import type { Waiting } from "../../programs/waiting.ts";
import { oneLine } from "./one-line.ts";
import { quoted } from "./quoted.ts";

/** Options of this command that the next one must have, too. */
export interface SameOptions {
  readonly journal?: string;
  readonly tenant?: string;
}

/** The commands that bring an execution or a conversation further, one for each call that it waits for. */
export function waitingHints(
  execution: string,
  { approvals, calls }: Waiting,
  options: SameOptions,
): readonly string[] {
  return [
    ...approvals.map(({ callId, why }) => {
      const answers =
        why === "approval" ? "(or --deny)" : "(to run it again; or --deny, or --done JSON if it was done)";
      return `portcullis: decide with: ${decideCommand(execution, callId, options)} ${answers}`;
    }),
    ...calls.map(
      ({ callId }) =>
        `portcullis: answer with: ${resumeCommand(execution, options)} --result ${shown(callId)}=JSON, and the tools it began with`,
    ),
  ];
}

/** The command that allows a call that waits for approval. */
export function decideCommand(execution: string, callId: string, options: SameOptions): string {
  return `portcullis decide ${shown(execution)} ${shown(callId)} --allow${sameOptions(options)}`;
}

/** The command that takes an execution up, without its tools. */
export function resumeCommand(execution: string, options: SameOptions): string {
  return `portcullis resume ${shown(execution)}${sameOptions(options)}`;
}

function sameOptions({ journal, tenant }: SameOptions): string {
  return Object.entries({ tenant, journal })
    .map(([name, value]) => (value === undefined ? "" : ` --${name} ${shown(value)}`))
    .join("");
}

/** Ids come from callers, and those of calls from models. */
function shown(arg: string): string {
  return quoted(oneLine(arg));
}
