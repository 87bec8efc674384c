import { isFields, listOf, PortcullisError, textOf } from "../../base/index.ts";
import { content as withParts, naming } from "../../tools/content.ts";
import type { ProtocolMethod } from "./protocol-method.ts";
import { BLOCK_LEVELS, shownBlocks, withoutNotes } from "./result-value.ts";
import { MalformedMessage, type Message, dropNulls } from "./wire/wire.ts";

const TEXT = { type: "string" };
const RESOURCE = {
  type: "object",
  properties: {
    uri: TEXT,
    mimeType: TEXT,
    text: TEXT,
    blob: { ...TEXT, description: "base64" },
    bytes: { type: "number", description: "in place of `blob` for a model, which gets the bytes as a file" },
  },
  required: ["uri"],
};

/** The tool that reads what results of a server have named, as if the server listed it. */
export const READER = {
  name: "read_resource",
  description:
    "Reads a resource that an earlier result of this server has named: the `uri` of a block `resource_link` or `resource`. Gives the text of a single text, and { contents } of anything else.",
  inputSchema: {
    type: "object",
    properties: { uri: { type: "string", description: "as the result has it", minLength: 1, maxLength: 2048 } },
    required: ["uri"],
    additionalProperties: false,
  },
  outputSchema: {
    anyOf: [
      TEXT,
      { type: "object", properties: { contents: { type: "array", items: RESOURCE } }, required: ["contents"] },
    ],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
} as const;

const SHOWN_LENGTH = 200;
/** Codes by which servers of the old and of the new version say that there is no such resource. */
const NOT_FOUND: ReadonlySet<number> = new Set([-32002, -32602]);

export const readingResource: ProtocolMethod = {
  request({ name, source, input, isNamed }) {
    const { uri } = input as { readonly uri: string };
    if (!isNamed(uri)) throw unnamed(name, source, uri);
    return { method: "resources/read", params: { uri } };
  },
  value(result, { caller, input }) {
    const { uri } = input as { readonly uri: string };
    const contents = dropNulls(result.contents, BLOCK_LEVELS);
    if (!Array.isArray(contents) || !contents.every(isResource))
      throw new MalformedMessage("The result has contents that are no list of resources.");
    const blocks = contents.map((resource) => ({ type: "resource", resource: withoutNotes(resource) }));
    const { shown, parts } = shownBlocks(blocks, caller === "direct");
    const resources = shown.map(({ block }) => block.resource);
    const [only] = contents;
    const isText = contents.length === 1 && only?.text !== undefined;
    const content = withParts({ value: isText ? only.text : { contents: resources }, parts, source: uri });
    return naming(content, urisOf(contents));
  },
  refused(code, { name, input }) {
    if (!NOT_FOUND.has(code)) return undefined;
    const { uri } = input as { readonly uri: string };
    return new PortcullisError("tool_failed", `${name}: the server has not found ${shownUri(uri)}.`);
  },
};

/** Makes calls of a tool whose results name the resources that they link or embed. */
export function namingResources(calls: ProtocolMethod): ProtocolMethod {
  return {
    ...calls,
    value: async (result, call, text) => naming(await calls.value(result, call, text), resourcesOf(result)),
  };
}

function shownUri(uri: string): string {
  return JSON.stringify(uri.length > SHOWN_LENGTH ? `${uri.slice(0, SHOWN_LENGTH)}…` : uri);
}

function unnamed(name: string, source: string, uri: string): PortcullisError {
  return new PortcullisError(
    "tool_failed",
    `${name} reads only resources that a result of ${source} has named here, and none has named ${shownUri(uri)}. Call a tool of ${source} that names it first, and give the uri as its result has it. Of one result the first 500 count.`,
  );
}

function resourcesOf(result: Message): readonly string[] {
  const blocks = listOf(result, "content").filter(isFields);
  return urisOf(
    blocks.flatMap((block) => {
      if (block.type === "resource") return [block.resource];
      return block.type === "resource_link" ? [block] : [];
    }),
  );
}

function urisOf(named: readonly unknown[]): readonly string[] {
  return named.flatMap((one) => textOf(one, "uri") ?? []);
}

interface Resource extends Message {
  readonly uri: string;
  readonly text?: string;
}

function isResource(value: unknown): value is Resource {
  if (!isFields(value) || typeof value.uri !== "string") return false;
  return value.text === undefined ? typeof value.blob === "string" : typeof value.text === "string";
}
