import { z } from "zod";
import { ANSWER_NAMES } from "./answers.ts";
import { without } from "../../base/index.ts";
import { NO_QUERY } from "./bodies.ts";
import { PROBLEM_CODES, statusOf } from "../http/problems.ts";
import { ROUTES, type Route } from "./routes.ts";

/** The OpenAPI document of the routes, made of the schemas that check requests. */
export function openApiDocument(version: string): object {
  const paths = Map.groupBy(ROUTES, ({ path }) => pathOf(path));
  return {
    openapi: "3.1.0",
    info: {
      title: "Portcullis",
      version,
      description: "Runs programs behind one gate. Everything is looked up within the tenant of the key.",
    },
    components: {
      securitySchemes: { key: { type: "http", scheme: "bearer" } },
      schemas: components(),
    },
    security: [{ key: [] }],
    paths: mapped(Object.fromEntries(paths), (routes) =>
      Object.fromEntries(routes.map((line) => [line.method.toLowerCase(), operationOf(line)])),
    ),
  };
}

function operationOf(line: Route): object {
  const { summary, path, query, body, scope, answers, method } = line;
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[/:](\w)/g, (_, letter: string) => letter.toUpperCase()).replaceAll(/\W/g, "")}`,
    summary,
    security: scope === "none" ? [] : undefined,
    description: scope === "none" || scope === "any" ? undefined : `Needs a key with the scope \`${scope}\`.`,
    parameters: [...pathParameters(path), ...queryParameters(query)],
    requestBody: body && { required: true, content: { "application/json": { schema: schemaOf(body) } } },
    responses: { ...mapped(answers, answerOf), default: REFUSED },
  };
}

function answerOf(answer: Route["answers"][number]): object {
  if (answer === undefined) return { description: "Nothing more" };
  if ("type" in answer && !("parse" in answer))
    return {
      description: toldOf(answer.event),
      content: { [answer.type]: { schema: answer.type === "application/json" ? {} : { type: "string" } } },
    };
  return {
    description: "As asked",
    content: { "application/json": { schema: { $ref: refOf(nameOf(answer)) } } },
  };
}

/** OpenAPI 3.1 has no field for the events of a stream. */
function toldOf(event: z.ZodType | undefined): string {
  return event === undefined
    ? "As asked"
    : `Server-sent events. The \`data\` of each is JSON: \`${nameOf(event)}\`, and \`Problem\` of the event \`error\`.`;
}

const REFUSED = {
  description: `A refusal. Its status is that of its code: ${PROBLEM_CODES.map((code) => `\`${code}\` ${statusOf(code)}`).join(", ")}.`,
  content: { "application/json": { schema: { $ref: refOf("Problem") } } },
};

/** A path as OpenAPI writes it. */
export function pathOf(path: string): string {
  return path.replaceAll(/:(\w+)/g, "{$1}");
}

function pathParameters(path: string): readonly object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(query: z.ZodType = NO_QUERY): readonly object[] {
  const { properties = {}, required = [] } = schemaOf(query) as {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

/** The schemas of all answers. A schema that is a part of another schema is referred to. */
function components(): object {
  const { schemas } = z.toJSONSchema(ANSWER_NAMES, { ...AS_WRITTEN, io: "output", uri: refOf });
  return mapped(schemas, bare);
}

function mapped<Value>(fields: Readonly<Record<string, Value>>, of: (value: Value) => object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, of(value)]));
}

function nameOf(answer: z.ZodType): string {
  const name = ANSWER_NAMES.get(answer)?.id;
  if (name === undefined) throw new Error("An answer has no name in ANSWER_NAMES.");
  return name;
}

function refOf(name: string): string {
  return `#/components/schemas/${name}`;
}

const AS_WRITTEN = { unrepresentable: "any", reused: "inline" } as const;

function schemaOf(schema: z.ZodType): object {
  return bare(z.toJSONSchema(schema, { ...AS_WRITTEN, io: "input" }));
}

/** A schema without the fields that an OpenAPI document has in its own places. */
function bare(schema: object): object {
  return without({ ...schema }, "$schema", "$id");
}
