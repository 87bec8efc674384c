import { PortcullisError } from "../errors.ts";
import type { ExecutionSummary, Journal } from "../journal/journal.ts";
import type { Header } from "../journal/record.ts";
import { listedExecution } from "../executions/list-executions.ts";
import { headerOf } from "../programs/once.ts";
import { inSlices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { outcomeView } from "./outcome-view.ts";
import { headOf } from "./text-room.ts";
import { writtenTools } from "./tool-places.ts";
import type { ListFilter, ListRow, ListView } from "./list.ts";

const ROWS = 100;
/** Executions that are looked at for one list: their headers are read. */
const LOOKED_AT = 5000;
/** Characters that are read for one list: of programs and tasks, and of what has happened in open executions. */
const LOOKED_THROUGH = 32 * 1024 * 1024;
/** Characters that a record counts for. */
const RECORD_LENGTH = 512;
const TITLE_LENGTH = 200;
/** Tools that a row names: a conversation may have thousands. */
const TOOLS = 100;

/**
 * Executions, the latest first. Of those that have ended only the first and the last record are read. A list may be shorter
 * than `limit` and still have a `next`: one list looks at some thousand executions and some million characters. Whether the
 * reader may see the tenant's executions is the caller's to check.
 */
export async function listView(journal: Journal, filter: ListFilter = {}): Promise<ListView> {
  const { tenant, before, state, limit = ROWS } = filter;
  const executions: ListRow[] = [];
  let looked = 0;
  let through = 0;
  const options = {
    ...(tenant === undefined ? {} : { tenant }),
    ...(before === undefined ? {} : { before }),
    ...(state === undefined || state === "unreadable" ? {} : { open: state !== "ended" }),
  };
  let last: number | undefined;
  for await (const summary of inSlices(journal.list(options), new Lane(tenant ?? ""))) {
    // A list goes on at a time, so all that started in the same millisecond stand in one.
    const isFull = executions.length >= limit || looked >= LOOKED_AT || through >= LOOKED_THROUGH;
    if (isFull && last !== undefined && summary.startedAt < last) return { executions, next: last };
    looked += 1;
    last = summary.startedAt;
    const { row, length } = await lookAt(journal, summary, filter);
    through += length;
    if (row) executions.push(row);
  }
  return { executions };
}

interface LookedAt {
  /** Undefined where the filter leaves it out. */
  readonly row: ListRow | undefined;
  /** Characters that were read for it. */
  readonly length: number;
}

async function lookAt(journal: Journal, summary: ExecutionSummary, filter: ListFilter): Promise<LookedAt> {
  const header = await readable(headerOf(journal, summary.execution));
  const facts = header ? factsOf(header) : UNREADABLE;
  const row = await rowOf(journal, summary, filter, facts);
  // All records of one that is open are read, and two of one that has ended.
  return { row, length: facts.text.length + (summary.ended ? 2 : summary.records) * RECORD_LENGTH };
}

async function rowOf(
  journal: Journal,
  summary: ExecutionSummary,
  filter: ListFilter,
  { title, by, tools, text }: Facts,
): Promise<ListRow | undefined> {
  if (!fits(filter, tools, `${summary.execution}\n${text}`)) return undefined;
  const { id: execution, ...listed } = await listedExecution(journal, summary);
  if (filter.state !== undefined && filter.state !== listed.state) return undefined;
  return {
    execution,
    ...listed,
    title,
    by,
    tools: tools.slice(0, TOOLS),
    ...(summary.ended ? await endOf(journal, summary) : {}),
  };
}

function fits({ tool, text }: ListFilter, tools: readonly string[], searched: string): boolean {
  if (tool !== undefined && tool !== "" && !tools.some((name) => name.includes(tool))) return false;
  return text === undefined || text === "" || searched.toLowerCase().includes(text.toLowerCase());
}

interface Facts extends Pick<ListRow, "title" | "by" | "tools"> {
  /** What is searched. */
  readonly text: string;
}

const UNREADABLE: Facts = { title: "", by: "", tools: [], text: "" };

function factsOf(header: Header): Facts {
  const tools = header.tools.map(({ name }) => name);
  switch (header.kind) {
    case "program": {
      const { source, language } = header;
      const written = writtenTools(source, new Set(tools));
      const own = tools.filter((name) => written.has(name));
      return { title: titleOf(source), by: language, tools: own, text: source };
    }
    case "conversation":
      return { title: titleOf(header.task), by: header.model, tools, text: header.task };
    case "call":
      return { title: header.tool, by: header.caller, tools: [header.tool], text: header.input };
  }
}

function titleOf(text: string): string {
  return headOf(text.trimStart(), TITLE_LENGTH).text;
}

async function endOf(journal: Journal, { execution, startedAt, records }: ExecutionSummary) {
  for await (const record of journal.read(execution, { from: records - 1 }))
    if (record.type === "outcome")
      return { outcome: outcomeView(record.outcome).type, ms: Math.max(0, record.at - startedAt) };
  return {};
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
