import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";
import { readData } from "../read-data.ts";

const PAGE = 200;

const Operation = z.looseObject({
  operationId: z.string(),
  summary: z.string(),
  requestBody: z
    .looseObject({
      required: z.boolean().optional(),
      content: z.record(z.string(), z.unknown()).describe("by media type"),
    })
    .optional(),
  responses: z.record(z.string(), z.unknown()).describe("by status code"),
});
const Listed = z.object({ operationId: z.string(), method: z.string(), path: z.string(), category: z.string() });
type Listed = z.infer<typeof Listed>;
type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

interface Description {
  readonly whole: Json;
  readonly operations: ReadonlyMap<string, { readonly listed: Listed; readonly operation: Json }>;
}

let description: Description | undefined;

/** Read at the first call: it is 7 MB, and most who load these tools ask for the list of them only. */
function readDescription(): Description {
  const whole = readData(new URL("api.github.com.json.br", import.meta.url)) as { readonly [key: string]: Json };
  const paths = whole.paths as Readonly<Record<string, Readonly<Record<string, z.infer<typeof Operation>>>>>;
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { operationId } = operation;
      const listed = { operationId, method, path, category: operationId.slice(0, operationId.indexOf("/")) };
      return [operationId, { listed, operation: operation as Json }] as const;
    }),
  );
  return { whole, operations: new Map(operations) };
}

const described = () => (description ??= readDescription());

/** The value with what its `$ref`s lead to in their place. GitHub's description has no circles. */
function resolve(value: Json, whole: Json): Json {
  if (value === null || typeof value !== "object") return value;
  if (isList(value)) return value.map((element) => resolve(element, whole));
  const { $ref: reference } = value;
  if (typeof reference === "string") return resolve(follow(reference, whole), whole);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, resolve(member, whole)]));
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);

/** What a reference like `#/components/schemas/issue` leads to. */
function follow(reference: string, whole: Json): Json {
  return reference
    .slice("#/".length)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((node, key) => (node as { readonly [key: string]: Json })[key] ?? null, whole);
}

const listOperations = defineTool({
  name: "operations.list",
  description: `Operations of GitHub's REST API, ${PAGE} a page`,
  inputSchema: z.object({
    category: z.string().optional().describe("like repos; all by default"),
    cursor: z.string().optional().describe("nextCursor of the page before"),
  }),
  outputSchema: z.object({ operations: z.array(Listed), nextCursor: z.string().optional() }),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ category, cursor }) => {
    const matching = [...described().operations.values()]
      .map(({ listed }) => listed)
      .filter((listed) => category === undefined || listed.category === category);
    const start = cursor === undefined ? 0 : matching.findIndex(({ operationId }) => operationId === cursor);
    if (start < 0) throw new PortcullisError("tool_failed", `There is no cursor ${cursor}: nextCursor gives it.`);
    const next = matching[start + PAGE];
    return {
      operations: matching.slice(start, start + PAGE),
      ...(next && { nextCursor: next.operationId }),
    };
  },
});

const getOperation = defineTool({
  name: "operations.get",
  description: "One operation of GitHub's REST API as OpenAPI describes it, references resolved",
  inputSchema: z.object({ operationId: z.string().describe("like repos/create-fork") }),
  outputSchema: Operation,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ operationId }) => {
    const { whole, operations } = described();
    const found = operations.get(operationId);
    if (!found)
      throw new PortcullisError("tool_failed", `There is no operation ${operationId}: operations.list gives the ids.`);
    return resolve(found.operation, whole) as z.infer<typeof Operation>;
  },
});

export default [listOperations, getOperation];
