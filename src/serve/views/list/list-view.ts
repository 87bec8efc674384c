import { PortcullisError } from "../../../base/index.ts";
import type { ExecutionSummary, Journal } from "../../../journal/journal.ts";
import { readHeader, ReadingBudget, readList } from "../../../journal/reading/index.ts";
import type { Header } from "../../../journal/record.ts";
import { listExecution } from "../../../runtime/executions/index.ts";
import { firstMessage } from "../parts/first-message.ts";
import { writtenTools } from "../parts/tool-places.ts";
import { titleOf } from "../title.ts";
import type { ListFilter, ListRow, ListView } from "./list.ts";

const ROWS = 100;
/** Executions that are looked at for one list: their headers are read. */
const LOOKED_AT = 5000;
/** Characters that are read for one list: of programs and tasks, and of all records of open executions. A header and an outcome may go beyond. */
const LOOKED_THROUGH = 32 * 1024 * 1024;
/** Characters that an execution counts for beside its texts. */
const ROW_LENGTH = 1024;
/** Maximum number of tools that a row names: a conversation may have thousands. */
const TOOLS = 100;

/**
 * Executions, the latest first. If an execution has ended, only its first and last record are read. One list looks at
 * some thousand executions and some million characters, so it may be shorter than `limit` and still have a `next`. A
 * larger open execution is `unread`, whatever state is asked for. The caller checks whether the reader may see the
 * tenant's executions. Those of which `mayRead` is false are found by id and state alone.
 */
export async function listView(
  journal: Journal,
  filter: ListFilter,
  mayRead: (header: Header) => boolean,
): Promise<ListView> {
  const { tenant, before, state, limit = ROWS } = filter;
  const executions: ListRow[] = [];
  let looked = 0;
  const budget = new ReadingBudget(LOOKED_THROUGH);
  const open = state === undefined || state === "unreadable" ? undefined : state !== "ended";
  let last: number | undefined;
  for await (const summary of readList(journal, { tenant, before, open })) {
    // The next list begins before a time, so executions that started in the same millisecond stand in the same list.
    const isFull = executions.length >= limit || looked >= LOOKED_AT || budget.isSpent;
    if (isFull && last !== undefined && summary.startedAt < last) return { executions, next: last };
    const row = await lookAt(journal, summary, filter, budget, mayRead);
    // The next list has more to read.
    if (row?.state === "unread" && last !== undefined && summary.startedAt < last) return { executions, next: last };
    looked += 1;
    last = summary.startedAt;
    if (row) executions.push(row);
  }
  return { executions };
}

/** Undefined if the filter leaves the execution out. */
async function lookAt(
  journal: Journal,
  summary: ExecutionSummary,
  filter: ListFilter,
  budget: ReadingBudget,
  mayRead: (header: Header) => boolean,
): Promise<ListRow | undefined> {
  budget.take(ROW_LENGTH);
  const onLength = (more: number) => budget.take(more);
  const header = await readable(readHeader(journal, summary.execution, { tenant: summary.tenant, onLength }));
  const shown = header && mayRead(header) ? header : undefined;
  const first = (shown && (await readable(firstMessage(journal, shown, { onLength })))) ?? "";
  const { title, by, tools, text } = shown ? factsOf(shown, first) : UNREADABLE;
  if (!fits(filter, tools, `${summary.execution}\n${text}`)) return undefined;
  const listed = await listExecution(journal, summary, budget);
  if (listed.state !== "unread" && filter.state !== undefined && filter.state !== listed.state) return undefined;
  const row = { title, by, tools: tools.slice(0, TOOLS) };
  // A conversation may wait for a tool that it got after its beginning.
  const awaited = listed.waitsFor.map((name) => ({ name, digest: "", callers: [] }));
  if (!shown || !mayRead({ ...shown, tools: awaited })) {
    const { execution, kind, state, tenant, startedAt, driven, ms } = listed;
    return { execution, kind, state, tenant, startedAt, driven, waitsFor: [], ms, ...row };
  }
  return { ...listed, parent: shown.parent?.execution, ...row };
}

function fits({ tool = "", text = "" }: ListFilter, tools: readonly string[], searched: string): boolean {
  if (tool !== "" && !tools.some((name) => name.includes(tool))) return false;
  return text === "" || searched.toLowerCase().includes(text.toLowerCase());
}

interface Facts extends Pick<ListRow, "title" | "by" | "tools"> {
  readonly text: string;
}

const UNREADABLE: Facts = { title: "", by: "", tools: [], text: "" };

/** `first`: what the user of a conversation said first. */
function factsOf(header: Header, first: string): Facts {
  const tools = header.tools.map(({ name }) => name);
  const title = titleOf(header, first);
  switch (header.kind) {
    case "program": {
      const { source, language } = header;
      const written = writtenTools(source, new Set(tools));
      return { title, by: language, tools: tools.filter((name) => written.has(name)), text: source };
    }
    case "conversation":
      return { title, by: header.model, tools, text: header.task || first };
    case "call":
      return { title, by: header.caller, tools: [header.tool], text: header.input };
  }
}

/** Undefined for records that cannot be read: one execution must not hide the others. */
async function readable<Value>(read: Promise<Value>): Promise<Value | undefined> {
  try {
    return await read;
  } catch (error) {
    if (PortcullisError.is(error) && error.code.startsWith("journal_")) return undefined;
    throw error;
  }
}
