import { now } from "../clock.ts";
import type { ExecutionId } from "../journal/execution-id.ts";
import { type HeaderBase, JOURNAL_FORMAT, type Owner } from "../journal/record.ts";
import type { Tool } from "../tools/tool.ts";
import { recordedTool } from "../tools/tool-digest.ts";
import type { ParentCall } from "./work-scope.ts";

export interface HeaderScope {
  readonly tenant: string;
  readonly owner?: Owner | undefined;
  readonly limits: Readonly<Record<string, number>>;
  readonly above?: ParentCall | undefined;
}

/**
 * The fields that headers of programs, conversations and single calls have in common. All three come through the gate,
 * and the journal itself may not import tools, whose digests a header has.
 */
export function headerBase(
  execution: ExecutionId,
  { tenant, owner, limits, above }: HeaderScope,
  tools: readonly Tool[],
  versions: Readonly<Record<string, string>> = {},
  trace?: string,
): HeaderBase {
  return {
    type: "header",
    format: JOURNAL_FORMAT,
    execution,
    tenant,
    ...(owner ? { owner } : {}),
    startedAt: now(),
    tools: tools.map(recordedTool),
    limits,
    versions: { node: process.versions.node, ...versions },
    ...(above ? { parent: { execution: above.execution, call: above.callId } } : {}),
    ...(trace === undefined ? {} : { trace }),
  };
}
