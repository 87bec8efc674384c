import { isFields } from "../../../values/fields.ts";

/** How an operation gives a list in pages, which its tool makes a stream of. */
export interface Pagination {
  /** JSON Pointer to the list in an answer, like `/data`; `""`, the default, if the answer is the list. */
  readonly items?: string;
  /**
   * Where the next page is. `link`: at the address with `rel="next"` in the header `Link`. `cursor`: a JSON Pointer to
   * the value for the parameter `param`, or without `param` to the address of the next page. `page`: the name of the
   * parameter that counts pages.
   */
  readonly next:
    | { readonly link: true }
    | { readonly cursor: string; readonly param?: string }
    | { readonly page: string };
}

export const PAGINATION_EXPECTED =
  '{ next, items? } with next as { link: true }, { cursor: "/next", param?: "cursor" } or { page: "page" }, and pointers like "/data"';

export function isPagination(value: unknown): boolean {
  if (!isFields(value) || !hasOnly(value, "items", "next") || !isFields(value.next)) return false;
  const { items = "", next } = value;
  if (!isPointer(items)) return false;
  if (Object.hasOwn(next, "link")) return hasOnly(next, "link") && next.link === true;
  if (Object.hasOwn(next, "page")) return hasOnly(next, "page") && isName(next.page);
  if (!hasOnly(next, "cursor", "param") || !isPointer(next.cursor) || next.cursor === "") return false;
  return next.param === undefined || isName(next.param);
}

function hasOnly(value: object, ...names: readonly string[]): boolean {
  return Object.keys(value).every((name) => names.includes(name));
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}

function isPointer(value: unknown): boolean {
  return typeof value === "string" && (value === "" || value.startsWith("/"));
}

/** The parameter that names a page; undefined if addresses do. */
export function pageParameter({ next }: Pagination): string | undefined {
  if ("page" in next) return next.page;
  return "cursor" in next ? next.param : undefined;
}

export function keysOf(pointer: string): readonly string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The address with `rel="next"` in a header `Link`; undefined if there is none. */
export function nextLink(header: string): string | undefined {
  for (let at = header.indexOf("<"); at >= 0;) {
    const end = header.indexOf(">", at);
    if (end < 0) return undefined;
    const { parameters, next } = parametersOf(header, end + 1);
    if (parameters.some(isNext)) return header.slice(at + 1, end);
    at = header.indexOf("<", next);
  }
  return undefined;
}

/** The parameters of a link, and where it ends: commas and semicolons in quotation marks belong to a value. */
function parametersOf(header: string, from: number) {
  const parameters: string[] = [];
  let isQuoted = false;
  let start = from;
  for (let at = from; ; at += 1) {
    const character = header[at];
    if (isQuoted && character === "\\") at += 1;
    else if (character === '"') isQuoted = !isQuoted;
    const isEnd = character === undefined || (!isQuoted && character === ",");
    if (isEnd || (!isQuoted && character === ";")) {
      parameters.push(header.slice(start, at));
      start = at + 1;
    }
    if (isEnd) return { parameters, next: at };
  }
}

function isNext(parameter: string): boolean {
  const [name = "", value = ""] = parameter.split("=", 2);
  const relations = value.replaceAll('"', "").trim().toLowerCase().split(/\s/);
  return name.trim().toLowerCase() === "rel" && relations.includes("next");
}
