/** A refusal in the protocol's form. `code` is that of JSON-RPC. */
export function refusal(
  status: number,
  message: string,
  code = -32000,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status, headers });
}
