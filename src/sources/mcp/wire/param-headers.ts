import { fieldOf, isFields } from "../../../base/index.ts";

/** A field of a tool's input whose value is sent as a header too. */
export interface ParamHeader {
  readonly path: readonly string[];
  readonly name: string;
}

const FIELDS = 10_000;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const PLAIN = /^(?:[!-~]|[!-~][\t -~]*[!-~])$/;

/** The fields that a schema marks by `x-mcp-header`, as protocol version 2026-07-28 has it. */
export function paramHeaders(schema: unknown): readonly ParamHeader[] {
  const found: ParamHeader[] = [];
  const open: { readonly part: unknown; readonly path: readonly string[] }[] = [{ part: schema, path: [] }];
  for (let seen = 0; seen < FIELDS; seen += 1) {
    const next = open.pop();
    if (!next) break;
    const { part, path } = next;
    if (!isFields(part)) continue;
    const name = part["x-mcp-header"];
    if (typeof name === "string" && TOKEN.test(name) && path.length > 0) found.push({ path, name });
    if (isFields(part.properties))
      for (const [key, child] of Object.entries(part.properties)) open.push({ part: child, path: [...path, key] });
  }
  return found;
}

export function headersOf(fields: readonly ParamHeader[], input: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, name } of fields) {
    const value = path.reduce<unknown>(fieldOf, input);
    if (!["string", "number", "boolean"].includes(typeof value)) continue;
    const text = String(value);
    headers[`Mcp-Param-${name}`] =
      PLAIN.test(text) && !text.startsWith("=?base64?") ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
  }
  return headers;
}
