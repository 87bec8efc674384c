import { readUrl, textOf } from "../../base/index.ts";
import type { Citation, HostedCallNews } from "../model.ts";

/** Bounds of what is kept of a call that a provider made itself, in UTF-16 code units and pieces. */
const TEXT_LENGTH = 2000;
const TITLE_LENGTH = 300;
const NAME_LENGTH = 128;
const URL_LENGTH = 2048;
const ID_LENGTH = 256;
/** What ends an address in a text, hides in it, or turns its direction. */
const UNSAFE_IN_ADDRESS = /[\s<>"`\\\p{C}\p{Default_Ignorable_Code_Point}]/u;
const MAX_CITATIONS = 100;
const CITATIONS_READ = 4 * MAX_CITATIONS;
const MAX_FILES = 100;

export interface HostedCall {
  readonly call: string;
  /** The provider's name of its tool, like `web_search`. */
  readonly tool: string;
  readonly input?: unknown;
}

export function hostedStart({ call, tool, input }: HostedCall): HostedCallNews {
  const text = typeof input === "string" ? input : (JSON.stringify(input) ?? "");
  return {
    type: "hosted_call_started",
    call: call.slice(0, ID_LENGTH),
    tool: tool.slice(0, NAME_LENGTH),
    input: head(text, TEXT_LENGTH),
  };
}

export function hostedEnd(
  { call, tool }: HostedCall,
  {
    isError,
    output,
    sources,
  }: { readonly isError: boolean; readonly output?: string; readonly sources?: readonly unknown[] },
): HostedCallNews {
  return {
    type: "hosted_call_ended",
    call: call.slice(0, ID_LENGTH),
    tool: tool.slice(0, NAME_LENGTH),
    isError,
    output: output && head(output, TEXT_LENGTH),
    sources: citationsOf(sources ?? []),
    ...filesField(sources ?? []),
  };
}

/** The files that objects name by `file_id`, as a field `files`; no field if there are none. */
export function filesField(items: readonly unknown[]): { readonly files?: string[] } {
  const ids = items.flatMap((one) => textOf(one, "file_id") ?? []).filter((id) => /^[\w.:-]{1,256}$/.test(id));
  return ids.length === 0 ? {} : { files: [...new Set(ids)].slice(0, MAX_FILES) };
}

/** Citations of objects with an address, each address once. What is no address of the web is left out: a page could make a link of it. */
export function citationsOf(items: readonly unknown[]): Citation[] {
  const byUrl = new Map<string, Citation>();
  for (const one of items.slice(0, CITATIONS_READ)) {
    const url = webAddress(textOf(one, "url") ?? textOf(one, "uri") ?? "");
    if (url === undefined || byUrl.has(url)) continue;
    const title = textOf(one, "title");
    byUrl.set(url, { url, ...(title && { title: head(title, TITLE_LENGTH) }) });
    if (byUrl.size === MAX_CITATIONS) break;
  }
  return [...byUrl.values()];
}

/** An address of the web, with escapes in place of what could be taken for more than an address; undefined for any other text. */
function webAddress(text: string): string | undefined {
  const { protocol, username, password, href = "" } = (text.length <= URL_LENGTH && readUrl(text)) || {};
  if ((protocol !== "https:" && protocol !== "http:") || username !== "" || password !== "") return undefined;
  return UNSAFE_IN_ADDRESS.test(text) ? href : text;
}

function head(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
