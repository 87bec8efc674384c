import type { z } from "zod";
import { listedExecution } from "../../executions/list-executions.ts";
import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import { headerOf } from "../../programs/once.ts";
import type { Header } from "../../journal/record.ts";
import { cleanText } from "../../output/clean-text.ts";
import { isMeantBy } from "../../tools/tool-name.ts";
import { RequestProblem } from "../http/problems.ts";
import type { LIST_QUERY } from "./bodies.ts";
import type { ApiParts, ApiRequest } from "./parts.ts";

/** Executions that one request looks at, and records that it reads of them to find calls. */
const LOOKED_AT = 1000;
const RECORDS_READ = 20_000;
const TITLE_LENGTH = 120;

type Query = z.output<typeof LIST_QUERY>;

/**
 * `GET /v1/executions`: the latest first. A page may have fewer than `limit`, or none, and a cursor all the same: a request
 * looks at so many only.
 */
export async function list(parts: ApiParts, { key, query }: ApiRequest<unknown, Query>): Promise<Response> {
  const { runtime, ids } = parts;
  const { tenant } = key;
  const { cursor, limit } = query;
  const search = new Search(runtime.journal, query);
  const executions: unknown[] = [];
  let isAfter = cursor === undefined;
  let last: string | undefined;
  for await (const summary of runtime.journal.list({ tenant, ...openOnly(query) })) {
    const shown = ids.shown(tenant, summary.execution);
    if (!isAfter) {
      isAfter = shown === cursor;
      continue;
    }
    if (executions.length >= limit || search.isSpent) return Response.json({ executions, cursor: last });
    last = shown;
    const found = await search.take(summary);
    if (found) executions.push({ execution: shown, ...found });
  }
  if (!isAfter)
    throw new RequestProblem(
      "request_invalid",
      "query.cursor: its execution is not kept any more. Begin again without it.",
    );
  return Response.json({ executions });
}

function openOnly({ state }: Query): { readonly open?: boolean } {
  return state === undefined ? {} : { open: state !== "ended" };
}

/** Looks for executions, and counts what that takes. */
class Search {
  readonly #journal: Journal;
  readonly #query: Query;
  #looked = 0;
  #read = 0;

  constructor(journal: Journal, query: Query) {
    this.#journal = journal;
    this.#query = query;
  }

  get isSpent(): boolean {
    return this.#looked >= LOOKED_AT || this.#read >= RECORDS_READ;
  }

  /** An execution as the list has it; undefined for one that is not looked for. */
  async take(summary: ExecutionSummary): Promise<object | undefined> {
    this.#looked += 1;
    if (!summary.ended) this.#read += summary.records;
    const { state } = this.#query;
    const { driven: _, id, tenant: __, ...listed } = await listedExecution(this.#journal, summary);
    if (state !== undefined && listed.state !== state) return undefined;
    const header = await headerOf(this.#journal, id);
    const text = header ? textOf(header) : "";
    return this.#hasText(id, text) && (await this.#hasTool(summary)) ? { ...listed, title: titleOf(text) } : undefined;
  }

  #hasText(id: string, text: string): boolean {
    const wanted = this.#query.text?.toLowerCase();
    return wanted === undefined || `${id}\n${text}`.toLowerCase().includes(wanted);
  }

  /** Whether a tool was called. */
  async #hasTool({ execution }: ExecutionSummary): Promise<boolean> {
    const { tool } = this.#query;
    if (tool === undefined) return true;
    for await (const record of this.#journal.read(execution)) {
      this.#read += 1;
      if (record.type === "call" && isMeantBy(tool, record.tool)) return true;
    }
    return false;
  }
}

function textOf(header: Header): string {
  switch (header.kind) {
    case "program":
      return header.source;
    case "conversation":
      return header.task;
    case "call":
      return header.tool;
  }
}

function titleOf(text: string): string {
  return cleanText(text.trimStart().slice(0, TITLE_LENGTH));
}
