import { isDeepStrictEqual } from "node:util";
import { type ExecutionId, now } from "../base/index.ts";
import { type HeaderBase, JOURNAL_FORMAT, type Owner, type ToolDigest } from "../journal/record.ts";
import { CALLERS, type Tool } from "../tools/tool.ts";
import { toolDigest } from "../tools/tool-digest.ts";
import { elsewhere } from "../tools/tool-facts.ts";
import type { ParentCall, WorkScope } from "./work-scope.ts";

export interface HeaderScope {
  readonly tenant: string;
  readonly owner?: Owner | undefined;
  readonly limits: Readonly<Record<string, number>>;
  readonly policies?: WorkScope["policies"];
  readonly above?: ParentCall | undefined;
}

/**
 * The fields that headers of programs, conversations and single calls have in common. All three come through the gate,
 * and the journal itself may not import tools, whose digests a header has.
 */
export function headerBase(
  execution: ExecutionId,
  { tenant, owner, limits, policies = [], above }: HeaderScope,
  tools: readonly Tool[],
  versions: Readonly<Record<string, string>> = {},
  trace?: string,
): HeaderBase {
  const named = policies.map((policy) => (typeof policy === "string" ? policy : "function"));
  return {
    type: "header",
    format: JOURNAL_FORMAT,
    execution,
    tenant,
    owner,
    startedAt: now(),
    tools: tools.map(recordedTool),
    limits,
    policies: named.length > 0 ? named : undefined,
    versions: { node: process.versions.node, ...versions, ...answering(tools) },
    parent: above && { execution: above.execution, call: above.callId },
    ...(trace !== undefined && { trace }),
  };
}

/** What those say of themselves whose tools these are, by their places; of at most 32. */
function answering(tools: readonly Tool[]): Readonly<Record<string, string>> {
  const sources = new Map(tools.map(({ place = "", answeredBy }) => [place, answeredBy] as const));
  const entries = [...sources].flatMap(([place, answeredBy]) => (answeredBy ? [[place, answeredBy()] as const] : []));
  return Object.fromEntries(entries.slice(0, 32));
}

/** Whether tools are recorded as these are, in the same order. */
export function areRecorded(tools: readonly Tool[], recorded: readonly ToolDigest[]): boolean {
  return isDeepStrictEqual(tools.map(recordedTool), [...recorded]);
}

export function recordedTool(tool: Tool): ToolDigest {
  const { name, effect, allowedCallers } = tool;
  const callers = CALLERS.filter((caller) => allowedCallers.includes(caller));
  return {
    name,
    digest: toolDigest(tool),
    ...(effect !== "read" && { effect }),
    ...elsewhere(tool),
    ...(callers.length !== CALLERS.length && { callers }),
  };
}
