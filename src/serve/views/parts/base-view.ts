import type { ExecutionSummary, Journal } from "../../../journal/journal.ts";
import type { Header, ToolDigest } from "../../../journal/record.ts";
import { isDriven, neededBy } from "../../../executions/driven.ts";
import { shownText, type UnansweredCall } from "../../../executions/from-journal/index.ts";
import { textAllowance } from "./text-allowance.ts";
import { titleOf } from "../title.ts";
import type { FaultView, OutcomeView, WaitingView } from "../view.ts";
import { countOf, fieldOf, type Fields, isFields, textOf } from "../../../base/index.ts";

/** The fields of the header that the views of all kinds have. */
export function baseOf(journal: Journal, summary: ExecutionSummary, header: Header) {
  const { execution, tenant, startedAt, versions, parent } = header;
  const driven = isDriven(journal, summary);
  return {
    execution,
    title: titleOf(header),
    tenant,
    startedAt,
    driven,
    drivenUntil: driven ? summary.lease?.until : undefined,
    needs: neededBy(summary, driven),
    versions: Object.entries(versions).map(([name, text]) => ({ name, text })),
    parent,
  };
}

/** Maximum of the inputs of all calls that wait, in UTF-16 code units: they are whole unless many large calls wait. */
const INPUTS = 4 * 1024 * 1024;

interface WaitingGroup {
  readonly calls: Iterable<UnansweredCall>;
  /** The tools of the program or the conversation that made them. */
  readonly tools: readonly ToolDigest[];
  /** What the ids of the group begin with, like `call_2/`. */
  readonly above?: string;
  /** Since when the host is to answer the calls, in milliseconds since 1970: no record tells of each of them. */
  readonly hostSince?: number;
}

type Digests = ReadonlyMap<string, ToolDigest>;

/** The calls that wait for a person, a client or the host. */
export function waitingViews(groups: Iterable<WaitingGroup>): readonly WaitingView[] {
  const room = textAllowance({ each: INPUTS, all: INPUTS });
  const viewOf = (call: UnansweredCall, { above = "", hostSince }: WaitingGroup, digests: Digests): WaitingView => {
    const { id, tool, inputText, converted, ruling } = call;
    const held = ruling?.code === "outcome_unknown" ? "outcome_unknown" : "approval";
    const digest = digests.get(tool);
    return {
      id: `${above}${id}`,
      tool,
      why: hostSince !== undefined || ruling?.decision === "client" ? "result" : held,
      effect: digest && (digest.effect ?? "read"),
      input: room.head(shownText(call)),
      rawInput: converted === undefined ? undefined : room.head(inputText),
      policy: ruling?.policy,
      inputDigest: ruling?.inputDigest,
      since: hostSince ?? ruling?.at ?? 0,
      hold: call.holds,
    };
  };
  return Array.from(groups, (group) => {
    const calls = [...group.calls];
    const digests: Digests = new Map(calls.length === 0 ? [] : group.tools.map((tool) => [tool.name, tool]));
    return calls.map((call) => viewOf(call, group, digests));
  }).flat();
}

/** Reads an ending, which may come from elsewhere. */
export function outcomeView(ending: Fields): OutcomeView {
  const type = textOf(ending, "type") ?? "unreadable";
  const fault = fieldOf(ending, "fault") ?? fieldOf(ending, "failure");
  return { type, fault: faultView(type, fault), limit: textOf(ending, "limit") };
}

/** Lines and columns are counted from 1. */
function faultView(type: string, fault: unknown): FaultView | undefined {
  if (!isFields(fault)) return undefined;
  return {
    name: textOf(fault, "name") ?? type,
    message: textOf(fault, "message") ?? "",
    code: textOf(fault, "code"),
    tool: textOf(fault, "tool"),
    line: countOf(fault, "line") || undefined,
    column: countOf(fault, "column") || undefined,
  };
}
