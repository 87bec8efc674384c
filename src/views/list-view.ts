import { setImmediate } from "node:timers/promises";
import { PortcullisError } from "../errors.ts";
import type { ExecutionSummary, Journal } from "../journal/journal.ts";
import type { Header } from "../journal/record.ts";
import { listedExecution } from "../executions/list-executions.ts";
import { headerOf } from "../programs/once.ts";
import { pathOfTool } from "../tools/tool-name.ts";
import { outcomeView } from "./outcome-view.ts";
import { headOf } from "./text-room.ts";
import type { ListFilter, ListRow, ListView } from "./list.ts";

const ROWS = 100;
/** Executions that are looked at for one list: their headers are read. */
const LOOKED_AT = 5000;
/** Executions that are looked at before other work of the host goes on. */
const AT_A_TIME = 16;
const TITLE_LENGTH = 200;

/**
 * Executions, the latest first. Of those that have ended only the first and the last record are read. A list may be shorter
 * than `limit` and still have a `next`: a filter looks at some thousand executions at once. Whether the reader may see the
 * tenant's executions is the caller's to check.
 */
export async function listView(journal: Journal, filter: ListFilter = {}): Promise<ListView> {
  const { tenant, before, state, limit = ROWS } = filter;
  const executions: ListRow[] = [];
  let looked = 0;
  const options = {
    ...(tenant === undefined ? {} : { tenant }),
    ...(before === undefined ? {} : { before }),
    ...(state === undefined || state === "unreadable" ? {} : { open: state !== "ended" }),
  };
  let last: number | undefined;
  for await (const summary of journal.list(options)) {
    // A list goes on at a time, so all that started in the same millisecond stand in one.
    const isFull = executions.length >= limit || looked >= LOOKED_AT;
    if (isFull && last !== undefined && summary.startedAt < last) return { executions, next: last };
    looked += 1;
    // A journal is read without a pause, and the host has others to serve.
    if (looked % AT_A_TIME === 0) await setImmediate();
    last = summary.startedAt;
    const row = await rowOf(journal, summary, filter);
    if (row) executions.push(row);
  }
  return { executions };
}

/** The row of an execution; undefined where the filter leaves it out. */
async function rowOf(journal: Journal, summary: ExecutionSummary, filter: ListFilter): Promise<ListRow | undefined> {
  const header = await readable(headerOf(journal, summary.execution));
  const { title, by, tools, text } = header ? factsOf(header) : UNREADABLE;
  if (!fits(filter, tools, `${summary.execution}\n${text}`)) return undefined;
  const { id: execution, ...listed } = await listedExecution(journal, summary);
  if (filter.state !== undefined && filter.state !== listed.state) return undefined;
  return { execution, ...listed, title, by, tools, ...(summary.ended ? await endOf(journal, summary) : {}) };
}

function fits({ tool, text }: ListFilter, tools: readonly string[], searched: string): boolean {
  if (tool !== undefined && tool !== "" && !tools.some((name) => name.includes(tool))) return false;
  return text === undefined || text === "" || searched.toLowerCase().includes(text.toLowerCase());
}

const UNREADABLE = { title: "", by: "", tools: [], text: "" };

function factsOf(header: Header) {
  const tools = header.tools.map(({ name }) => name);
  switch (header.kind) {
    case "program": {
      const { source, language } = header;
      const written = tools.filter((name) => source.includes(pathOfTool(name)));
      return { title: titleOf(source), by: language, tools: written, text: source };
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
