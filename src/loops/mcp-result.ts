/** A result of `tools/call`. A type and not an interface, as the types of the SDKs allow further fields. */
export type McpResult = { content: { type: "text"; text: string }[]; isError?: boolean };

export function textResult(text: string): McpResult {
  return { content: [{ type: "text", text }] };
}

export function errorResult(text: string): McpResult {
  return { ...textResult(text), isError: true };
}
