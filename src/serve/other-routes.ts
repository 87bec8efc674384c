import type { Key, RouteScope } from "./http/keys.ts";
import type { Problem } from "./http/problems.ts";
import type { MountedMcp } from "./mcp/http/mounted-mcp.ts";
import { readFileSync } from "node:fs";

/** A path that is not in the table of routes (`api/routes.ts`): of the page, the OpenAPI document or MCP. */
export interface OtherRoute {
  /** As hono writes it. */
  readonly path: string;
  readonly methods: readonly string[];
  readonly scope: RouteScope;
  readonly handle: (request: Request, key: Key) => Response | Promise<Response>;
  /** How a request is refused, if not in the server's own form. */
  readonly form?: (request: Request) => RefusalForm;
}

export interface RefusalForm {
  readonly refuse?: (problem: Problem) => Response;
  /** A header that may have the key in place of `Authorization`. */
  readonly keyHeader?: string;
}

/** The page, and the document of the API, which `document` makes once it is asked for. */
export function apiExtras(document: () => object): readonly OtherRoute[] {
  let text: string | undefined;
  const documentResponse = () => {
    text ??= JSON.stringify(document());
    return new Response(text, { headers: { "content-type": "application/json" } });
  };
  return [
    ...Array.from(PAGE, ([path, [name, type]]) => {
      let file: Buffer<ArrayBuffer> | undefined;
      const handle = () => {
        file ??= readFileSync(new URL(import.meta.resolve(`#page/${name}`)));
        return new Response(file, { headers: { ...PAGE_HEADERS, "content-type": type } });
      };
      return { path, methods: ["GET"], scope: "none" as const, handle };
    }),
    { path: "/openapi.json", methods: ["GET"], scope: "any", handle: documentResponse },
  ];
}

/** A client of MCP runs programs, whatever else it does. */
export function mcpRoute(mcp: MountedMcp): OtherRoute {
  return {
    path: "/mcp",
    methods: ["GET", "POST", "DELETE"],
    scope: "run",
    handle: (request, key) => mcp.fetch(request, key),
  };
}

const HTML = "text/html; charset=utf-8";
/** The files of the page and their types, by paths. */
const PAGE = new Map<string, readonly [name: string, type: string]>([
  ["/", ["index.html", HTML]],
  ["/index.html", ["index.html", HTML]],
  ["/page.js", ["page.js", "text/javascript; charset=utf-8"]],
  ["/page.css", ["page.css", "text/css; charset=utf-8"]],
  ["/icon.svg", ["icon.svg", "image/svg+xml"]],
]);

/**
 * The headers of every file of the page, beside those of every answer. Scripts and styles come from its own files alone, it reaches this server alone, no
 * text can become HTML, and no other page can frame it.
 */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cache-control": "no-cache",
};
