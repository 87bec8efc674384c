import type { Key, RouteScope } from "./http/keys.ts";
import type { Problem } from "./http/problems.ts";
import type { MountedMcp } from "./mcp/http/mounted-mcp.ts";
import { PAGE_HEADERS, PAGE_PATHS, pageFile } from "./page/page-files.ts";

/** A path that is not in the table of routes (`api/routes.ts`): of the page, the OpenAPI document or MCP. */
export interface OtherRoute {
  /** As hono writes it. */
  readonly path: string;
  readonly methods: readonly string[];
  readonly scope: RouteScope;
  readonly handle: (request: Request, key: Key) => Response | Promise<Response>;
  /** Writes a refusal in place of the server's own form. */
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
    ...PAGE_PATHS.map((path) => ({
      path,
      methods: ["GET"],
      scope: "none" as const,
      handle: () => pageResponse(path),
    })),
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

function pageResponse(path: string): Response {
  const file = pageFile(path);
  return new Response(file?.body ?? null, {
    status: file ? 200 : 404,
    headers: { ...PAGE_HEADERS, ...(file && { "content-type": file.type }) },
  });
}
