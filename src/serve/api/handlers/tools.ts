import type { z } from "zod";
import { inSlices, Lane, type SchemaType } from "../../../base/index.ts";
import { PROGRAM_SCHEMA } from "../../../models/turn/index.ts";
import { SEARCH_INPUT, toolStub } from "../../../tools/search/index.ts";
import type { Tool } from "../../../tools/tool.ts";
import { toolFacts } from "../../../tools/tool-facts.ts";
import type { LISTED_TOOL } from "../answers.ts";
import type { SEARCH_QUERY, TOOLS_QUERY } from "../bodies.ts";
import { jsonAnswer } from "../json-answer.ts";
import type { ApiRequest } from "../parts.ts";

/** `GET /v1/tools`: the tools that the key may call, and what a model is told so that it can write programs. */
export async function tools({
  keys,
  key,
  query,
}: ApiRequest<unknown, z.output<typeof TOOLS_QUERY>>): Promise<Response> {
  const { cursor = "", limit } = query;
  const runtime = keys.runtimeOf(key);
  const { run_program: program, search_tools: search } = await runtime.asTool("mcp");
  const after = runtime.enabledTools.all
    .filter(({ name }) => name > cursor)
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const page = after.slice(0, limit);
  const shown: SchemaType<typeof LISTED_TOOL>[] = [];
  // A stub is made of the tool's whole schema.
  for await (const tool of inSlices(page, new Lane(key.tenant))) shown.push(listed(runtime.shown(tool)));
  return jsonAnswer(key, {
    run_program: { name: program.name, description: program.config.description, inputSchema: PROGRAM_SCHEMA },
    search_tools: search && { name: search.name, description: search.config.description, inputSchema: SEARCH_INPUT },
    languages: runtime.sandbox.languages,
    scopes: key.scopes,
    tools: shown,
    cursor: after.length > page.length ? page.at(-1)?.name : undefined,
  });
}

/** `GET /v1/tools/search`: the tools for programs that fit a query best. */
export async function searchTools({
  keys,
  key,
  query: { q, limit, ...options },
}: ApiRequest<unknown, z.output<typeof SEARCH_QUERY>>): Promise<Response> {
  return jsonAnswer(key, { tools: await keys.runtimeOf(key).searchTools(q, limit, options) });
}

function listed(tool: Tool): SchemaType<typeof LISTED_TOOL> {
  const { description, allowedCallers, source, stream, execute: handler } = tool;
  const stub = allowedCallers.includes("programmatic") ? toolStub(tool, "javascript") : undefined;
  const client = handler === "client" ? (true as const) : undefined;
  return { ...toolFacts(tool), description, stub, source, client, stream: stream && (true as const) };
}
