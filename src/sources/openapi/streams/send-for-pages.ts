import { hash } from "node:crypto";
import { PortcullisError } from "../../../errors.ts";
import { valueAt } from "../../../tools/json-schema/json-schema.ts";
import type { CallContext } from "../../../tools/tool.ts";
import { encodedStrictly } from "../../request-text.ts";
import { basePath, type RequestParts } from "../request.ts";
import { type Answered, askForSuccess, type Call, readAnswer, type Sender } from "../send.ts";
import { keysOf, nextLink, type Pagination } from "./pagination.ts";

/** Pages of one list. */
const MAX_PAGES = 100_000;
/** Characters of a cursor, or of the address of a page. Few servers read longer ones. */
const MAX_CURSOR = 8192;

export interface Paging extends Pagination {
  /** Number of the first page, if pages have numbers. */
  readonly first: number;
}

/**
 * Sends a request for each page of a list, and yields the items of a page before it asks for the next. Throws as `send`
 * does, after the items of the pages before; `tool_failed` also for a page without a list, and for a next page that was
 * read already or lies outside of the API's address.
 */
export async function* sendForPages(
  sender: Sender,
  call: Call,
  request: RequestParts,
  { items = "", next, first }: Paging,
  context: CallContext,
): AsyncGenerator<unknown, void> {
  const { source } = sender;
  const seen = new Set<string>();
  const keys = keysOf(items);
  let asked: RequestParts | undefined = "page" in next ? withParameter(request, next.page, String(first)) : request;
  for (let page = 1; asked; page += 1) {
    if (page > MAX_PAGES)
      throw failed(`${source} has more than ${MAX_PAGES} pages of this list. Ask for larger pages, or for less.`);
    const identity = identityOf(sender, asked);
    if (seen.has(identity))
      throw failed(`${source} leads from page ${page - 1} back to one that was read already: the list has no end.`);
    seen.add(identity);
    const answered: Answered = await askForSuccess(sender, call, asked, context);
    const value = await readAnswer(sender, call, answered, context);
    const list = listAt(value, keys);
    if (!list)
      throw failed(
        `${source} answered without a list at ${JSON.stringify(items)} (page ${page}). Its policy says where.`,
      );
    for (const item of list) yield item;
    if ("page" in next) asked = list.length === 0 ? undefined : withParameter(request, next.page, String(first + page));
    else {
      const place = "link" in next ? linkIn(answered) : cursorAt(source, value, next.cursor);
      const parameter = "cursor" in next ? next.param : undefined;
      if (place === undefined) return;
      asked =
        parameter === undefined
          ? atAddress(sender, request, place, answered)
          : withParameter(request, parameter, place);
    }
  }
}

/** The list in an answer; undefined if there is none. Some servers write a list without items as null. */
function listAt(value: unknown, keys: readonly string[]): readonly unknown[] | undefined {
  const found = value === null ? null : valueAt(value, keys);
  if (found === null) return [];
  return Array.isArray(found) ? found : undefined;
}

function linkIn({ response }: Answered): string | undefined {
  return nextLink(response.headers.get("link") ?? "");
}

/** The value that leads to the next page; undefined after the last. */
function cursorAt(source: string, value: unknown, pointer: string): string | undefined {
  const cursor = value === null ? undefined : valueAt(value, keysOf(pointer));
  if (cursor === undefined || cursor === null || cursor === "" || cursor === false) return undefined;
  if ((typeof cursor !== "string" && typeof cursor !== "number") || String(cursor).length > MAX_CURSOR)
    throw failed(
      `${source} answered with no usable cursor at ${JSON.stringify(pointer)}: expected a number, or at most ${MAX_CURSOR} characters.`,
    );
  return String(cursor);
}

function withParameter(request: RequestParts, name: string, value: string): RequestParts {
  const parameter = `${encodedStrictly(name)}=${encodedStrictly(value)}`;
  return { ...request, query: request.query === "" ? parameter : `${request.query}&${parameter}` };
}

/** The request for an address that the server names. It gets the credentials, so it must be the API's. */
function atAddress({ source, baseUrl }: Sender, request: RequestParts, address: string, { url }: Answered) {
  const next = URL.parse(address, url.href);
  const base = basePath(baseUrl);
  if (next?.origin !== baseUrl.origin || next.username !== "" || next.password !== "")
    throw failed(`${source} names a next page at another host, which is not followed.`);
  if ((next.pathname !== base && !next.pathname.startsWith(`${base}/`)) || leadsUp(next.pathname))
    throw failed(`${source} names a next page outside of the address of its API, which is not followed.`);
  return { ...request, path: next.pathname.slice(base.length), query: next.search.slice(1) };
}

/** Whether a server that decodes the path before it parts it would leave the folder. */
function leadsUp(pathname: string): boolean {
  try {
    return decodeURIComponent(pathname).split(/[/\\]/).includes("..");
  } catch {
    return true;
  }
}

/** A digest of a page's address, without the host's parameter. */
function identityOf({ authorization }: Sender, { path, query }: RequestParts): string {
  const parameters = new URLSearchParams(query);
  if (authorization.query !== undefined) parameters.delete(authorization.query);
  return hash("sha256", `${path}?${parameters.toString()}`, "base64").slice(0, 22);
}

function failed(message: string): PortcullisError {
  return new PortcullisError("tool_failed", message);
}
