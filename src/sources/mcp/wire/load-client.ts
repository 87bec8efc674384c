import { loadPackage } from "../../../base/index.ts";

export type McpPackage = typeof import("@modelcontextprotocol/client");

/** The package that speaks the protocol, loaded with the first source: most programs have none. */
export function loadMcp(): Promise<McpPackage> {
  const missing = "fromMcp needs the package @modelcontextprotocol/client: npm install @modelcontextprotocol/client.";
  return loadPackage("source_unavailable", missing, () => import("@modelcontextprotocol/client"));
}
