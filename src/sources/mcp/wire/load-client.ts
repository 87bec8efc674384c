import { PortcullisError } from "../../../errors.ts";

export type McpPackage = typeof import("@modelcontextprotocol/client");

/** The package that speaks the protocol. Loaded with the first source, because most programs have none. */
export async function loadMcp(): Promise<McpPackage> {
  try {
    return await import("@modelcontextprotocol/client");
  } catch (cause) {
    throw new PortcullisError(
      "source_unavailable",
      "fromMcp needs the package @modelcontextprotocol/client: npm install @modelcontextprotocol/client.",
      { cause },
    );
  }
}
