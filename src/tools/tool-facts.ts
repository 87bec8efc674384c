import { type Caller, type Effect, needsApprovalAlways, type Tool } from "./tool.ts";

/** `by input`: it depends on the input of a call. */
const BY_INPUT = "by input";

export const FACT_EFFECTS = ["read", "idempotent", "write", BY_INPUT] as const satisfies readonly (
  | Effect
  | typeof BY_INPUT
)[];
export const FACT_APPROVALS = ["never", "always", BY_INPUT] as const;

/** What lists of tools say of a tool. */
export interface ToolFacts {
  readonly name: string;
  readonly allowedCallers: readonly Caller[];
  readonly effect: (typeof FACT_EFFECTS)[number];
  /** Whether calls need approval. */
  readonly approval: (typeof FACT_APPROVALS)[number];
  /** Where its calls run: `here`, `client`, `client NAME` with the client's own name for it, `agent`, `mcp NAME` or `openapi NAME`. */
  readonly place: string;
}

/** Who may call a tool, what a call changes at most, and whether calls need approval, as lists of tools say it. */
export function toolFacts(tool: Tool): ToolFacts {
  const { name, allowedCallers, effect, effectOf } = tool;
  const { place = "here" } = elsewhere(tool);
  return { name, allowedCallers, effect: effectOf ? BY_INPUT : effect, approval: approvalOf(tool), place };
}

/** Where the calls of a tool run, if not in a handler of the host. */
export function elsewhere({ execute: handler, place }: Pick<Tool, "execute" | "place">): { readonly place?: string } {
  if (handler === "client") return { place: place ?? "client" };
  return place === undefined ? {} : { place };
}

function approvalOf({ approvable, needsApproval }: Tool): ToolFacts["approval"] {
  if (!approvable) return "never";
  return needsApproval === needsApprovalAlways ? "always" : BY_INPUT;
}
