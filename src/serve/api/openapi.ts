import { z } from "zod";
import { PROBLEM } from "./answers.ts";
import type { ProblemCode } from "../http/problems.ts";
import { STATUS_OF } from "../http/problems.ts";
import { ROUTES, type Route } from "./routes.ts";

/** Refusals that any route with a key may give. */
const OF_EVERY_ROUTE: readonly ProblemCode[] = ["request_invalid", "host_unknown", "origin_refused", "server_failed"];
const OF_KEYS: readonly ProblemCode[] = [
  "key_unknown",
  "key_expired",
  "scope_missing",
  "rate_exceeded",
  "too_many_at_once",
];
const OF_BODIES: readonly ProblemCode[] = ["body_too_large", "body_not_json"];

/** Statuses of a route, with the codes of each refusal. */
export function problemsOf({ scope, body, problems }: Route): ReadonlyMap<number, readonly ProblemCode[]> {
  const all = new Set([
    ...OF_EVERY_ROUTE,
    ...(scope === "none" ? [] : OF_KEYS),
    ...(body === undefined ? [] : OF_BODIES),
    ...problems,
  ]);
  return Map.groupBy(all, (code) => STATUS_OF[code]);
}

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
      schemas: { Problem: schemaOf(PROBLEM, "output") },
    },
    security: [{ key: [] }],
    paths: Object.fromEntries(
      [...paths].map(([path, routes]) => [
        path,
        Object.fromEntries(routes.map((line) => [line.method.toLowerCase(), operationOf(line)])),
      ]),
    ),
  };
}

function operationOf(line: Route): object {
  const { summary, path, query, body, scope, answers, method } = line;
  const good = Object.entries(answers).map(([status, answer]) => [status, answerOf(answer)]);
  const bad = [...problemsOf(line)].map(([status, codes]) => [status, problemAnswer(codes)]);
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[/:](\w)/g, (_, letter: string) => letter.toUpperCase()).replaceAll(/\W/g, "")}`,
    summary,
    ...(scope === "none" ? { security: [] } : {}),
    ...(scope === "none" || scope === "any" ? {} : { description: `Needs a key with the scope \`${scope}\`.` }),
    parameters: [...pathParameters(path), ...queryParameters(query)],
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: schemaOf(body, "input") } } } }),
    responses: Object.fromEntries([...good, ...bad]),
  };
}

function answerOf(answer: Route["answers"][number]): object {
  if (answer === undefined) return { description: "Nothing more" };
  if ("type" in answer && !("parse" in answer))
    return { description: "As asked", content: { [answer.type]: { schema: { type: "string" } } } };
  return {
    description: "As asked",
    content: { "application/json": { schema: schemaOf(answer, "output") } },
  };
}

function problemAnswer(codes: readonly ProblemCode[]): object {
  return {
    description: codes.map((code) => `\`${code}\``).join(", "),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
}

/** A path as OpenAPI writes it. */
export function pathOf(path: string): string {
  return path.replace(":id", "{id}").replace(":call", "{call}").replace(":name", "{name}");
}

function pathParameters(path: string): readonly object[] {
  const names = ["id", "call", "name"].filter((name) => path.includes(`:${name}`));
  return names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } }));
}

function queryParameters(query: z.ZodType): readonly object[] {
  const { properties = {}, required = [] } = schemaOf(query, "input") as {
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

function schemaOf(schema: z.ZodType, io: "input" | "output"): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", reused: "inline" });
  return rest;
}
