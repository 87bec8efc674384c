/** A result of `tools/call`. A type and not an interface, as the types of the SDKs allow further fields. */
export type McpResult = { content: { type: "text"; text: string }[]; isError?: boolean };

/** The address of a value that is too large for a result. */
export type ResourceLink = {
  type: "resource_link";
  uri: string;
  name: string;
  description: string;
  mimeType: string;
  size: number;
};

/** A result that may have links beside its text. */
export type LinkedResult = { content: (McpResult["content"][number] | ResourceLink)[]; isError?: boolean };

export function textResult(text: string): McpResult {
  return { content: [{ type: "text", text }] };
}

export function errorResult(text: string): McpResult {
  return { ...textResult(text), isError: true };
}
