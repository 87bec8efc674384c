import type { Key } from "./http/keys.ts";
import type { MountedMcp } from "./mcp/mounted-mcp.ts";
import { PAGE_HEADERS, PAGE_PATHS, pageFile } from "./page/page-files.ts";

/** A path that is not in the table of routes (`api/routes.ts`): of the page, the OpenAPI document or MCP. */
export interface OtherRoute {
  /** As hono writes it. */
  readonly path: string;
  readonly methods: readonly string[];
  /** Whether it needs no key. */
  readonly isOpen: boolean;
  readonly handle: (request: Request, key: Key) => Response | Promise<Response>;
}

export interface OtherRoutesParts {
  /** Makes the OpenAPI document, once it is asked for. */
  readonly document: () => object;
  readonly mcp: MountedMcp;
}

export function otherRoutes({ document, mcp }: OtherRoutesParts): readonly OtherRoute[] {
  let text: string | undefined;
  const documentResponse = () => {
    text ??= JSON.stringify(document());
    return new Response(text, { headers: { "content-type": "application/json" } });
  };
  return [
    ...PAGE_PATHS.map((path) => ({ path, methods: ["GET"], isOpen: true, handle: () => pageResponse(path) })),
    { path: "/openapi.json", methods: ["GET"], isOpen: false, handle: documentResponse },
    {
      path: "/mcp",
      methods: ["GET", "POST", "DELETE"],
      isOpen: false,
      handle: (request, key) => mcp.fetch(request, key),
    },
  ];
}

function pageResponse(path: string): Response {
  const file = pageFile(path);
  return new Response(file?.body ?? null, {
    status: file ? 200 : 404,
    headers: { ...PAGE_HEADERS, ...(file && { "content-type": file.type }) },
  });
}
