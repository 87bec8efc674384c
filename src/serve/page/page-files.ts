import { readFileSync } from "node:fs";

/** A file of the page, as a server gives it. */
export interface PageFile {
  readonly body: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ["index.html", "text/html; charset=utf-8"],
  ["page.js", "text/javascript; charset=utf-8"],
  ["page.css", "text/css; charset=utf-8"],
  ["icon.svg", "image/svg+xml"],
]);

export const PAGE_PATHS: readonly string[] = ["/", ...[...TYPES.keys()].map((name) => `/${name}`)];

/**
 * The headers of every file of the page, beside those of every answer. Scripts and styles come from its own files alone, it reaches this server alone, no
 * text can become HTML, and no other page can frame it.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cache-control": "no-cache",
};

const files = new Map<string, PageFile>();

/** The file at a path of the page, like `/` or `/page.js`; undefined if there is none. */
export function pageFile(path: string): PageFile | undefined {
  const name = path === "/" ? "index.html" : path.slice(1);
  const type = TYPES.get(name);
  if (type === undefined || !path.startsWith("/")) return undefined;
  const known = files.get(name) ?? { body: new Uint8Array(readBuilt(name)), type };
  files.set(name, known);
  return known;
}

function readBuilt(name: string): Buffer {
  return readFileSync(new URL(import.meta.resolve(`#page/${name}`)));
}
