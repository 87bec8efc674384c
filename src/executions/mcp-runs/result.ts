/** A result of `tools/call`. Not an interface: the types of the SDKs allow further fields. */
export type McpResult = { content: { type: "text"; text: string }[]; isError?: boolean };

/** The address of a value that is too large for a result, or of what a tool points to. */
export type ResourceLink = {
  type: "resource_link";
  uri: string;
  name: string;
  description?: string;
  mimeType?: string;
  size?: number;
};

/** Images, audio, resources and links, as tools of MCP servers give them. */
export type MediaBlock =
  | Readonly<ResourceLink>
  | { readonly type: "image" | "audio"; readonly data: string; readonly mimeType: string }
  | { readonly type: "resource"; readonly resource: Readonly<Record<string, unknown>> };

/** A result that may have more than text. */
export type LinkedResult = {
  content: (McpResult["content"][number] | MediaBlock)[];
  /** The value of a tool's result, if it is an object: the same as the text. */
  structuredContent?: Readonly<Record<string, unknown>>;
  isError?: boolean;
};

export function textResult(text: string): McpResult {
  return { content: [{ type: "text", text }] };
}

export function errorResult(text: string): McpResult {
  return { ...textResult(text), isError: true };
}
