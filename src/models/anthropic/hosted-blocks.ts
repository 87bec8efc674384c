import { fieldOf, type Fields, isFields, listOf, textOf } from "../../values/fields.ts";
import type { HostedCall } from "../turn/hosted-calls.ts";

const READ: ReadonlySet<unknown> = new Set(
  "text thinking redacted_thinking tool_use server_tool_use mcp_tool_use compaction container_upload".split(" "),
);

/** Whether blocks of this kind are read. */
export function isRead({ type }: Fields): boolean {
  return READ.has(type) || String(type).endsWith("_tool_result");
}

/** A call of a tool that Anthropic runs itself, besides its programs; undefined for any other block. */
export function hostedCallOf(block: Fields): HostedCall | undefined {
  const call = textOf(block, "id");
  if (!call || (block.type !== "server_tool_use" && block.type !== "mcp_tool_use")) return undefined;
  const server = block.type === "mcp_tool_use" ? `${textOf(block, "server_name") ?? "mcp"}.` : "";
  return { call, tool: server + (textOf(block, "name") ?? ""), input: fieldOf(block, "input") ?? {} };
}

/** The result of such a call; undefined for any other block. */
export function hostedResultOf(block: Fields) {
  const call = textOf(block, "tool_use_id");
  const type = textOf(block, "type") ?? "";
  if (!call || !type.endsWith("_tool_result")) return undefined;
  const content = fieldOf(block, "content");
  const parts = Array.isArray(content) ? content : [content];
  const fault = parts.map((part) => textOf(part, "error_code")).find((code) => code !== undefined);
  const words = parts.flatMap(
    (part) => textOf(part, "text") ?? [textOf(part, "stdout") || [], textOf(part, "stderr") || []].flat(),
  );
  const output = fault ?? (words.length === 0 ? undefined : words.join("\n"));
  return {
    call,
    tool: type.slice(0, -"_tool_result".length),
    isError: fault !== undefined || fieldOf(block, "is_error") === true,
    ...(output === undefined ? {} : { output }),
    sources: parts.flatMap((part) => [part, ...listOf(part, "content")]).filter(isFields),
  };
}
