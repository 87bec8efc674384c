import type { z } from "zod";
import type { RouteScope } from "../http/keys.ts";
import { metricsText, ready } from "./handlers/health.ts";
import {
  ACCEPTED,
  ARTIFACT,
  CONVERSATION_STATUS,
  FOUND_TOOLS,
  HEALTH,
  LIST,
  MODELS,
  READY,
  REPORT_ANSWER,
  STATUS,
  TOOLS,
} from "./answers.ts";
import {
  BEGIN_BODY,
  DECISIONS_BODY,
  EXECUTE_BODY,
  LIST_QUERY,
  MODELS_QUERY,
  NO_BODY,
  RESULTS_BODY,
  SAY_BODY,
  STATUS_QUERY,
  SEARCH_QUERY,
  TOOLS_QUERY,
} from "./bodies.ts";
import { HTTP_EVENT } from "./event-shapes.ts";
import { cancel, endConversation, interrupt } from "./handlers/cancel.ts";
import { begin, continueIt, models } from "./handlers/converse.ts";
import { events, viewEvents } from "./handlers/events.ts";
import { execute } from "./handlers/execute.ts";
import { answer, decide } from "./handlers/decide-and-answer.ts";
import { type ApiParts, type ApiRequest, refuseRevoked } from "./parts.ts";
import { artifact, call, list, view } from "./handlers/reads.ts";
import { show } from "./handlers/show.ts";
import { searchTools, tools } from "./handlers/tools.ts";

/** An answer that is no JSON, by its media type. Of a stream, `event` is the schema of each event's data. */
type Answer = z.ZodType | { readonly type: string; readonly event?: z.ZodType } | undefined;

/** One line of the door's table: what may be asked, by whom, and what is answered. Requests are checked by it, and the OpenAPI document is made of it. */
export interface Route<Body extends z.ZodType = z.ZodType, Query extends z.ZodType = z.ZodType> {
  readonly method: "GET" | "POST";
  /** `:id` is the id of an execution. */
  readonly path: string;
  readonly summary: string;
  readonly scope: RouteScope;
  /** The body of a POST. A route that has one begins or changes something, so it is refused while the server closes. */
  readonly body?: Body;
  /** None by default. */
  readonly query?: Query;
  /** By status; undefined for an empty body. */
  readonly answers: Readonly<Record<number, Answer>>;
  readonly handle: (
    parts: ApiParts,
    request: ApiRequest<z.output<Body>, z.output<Query>>,
  ) => Response | Promise<Response>;
}

/** For a route that reads a journal, or all tools. Keys may change while it waits for its turn. */
function reading<Body, Query>(
  handle: (parts: ApiParts, request: ApiRequest<Body, Query>) => Response | Promise<Response>,
): typeof handle {
  return (parts, request) =>
    parts.readings.run(request.key.id, request.signal, () => {
      refuseRevoked(parts, request.key);
      return handle(parts, request);
    });
}

/** Keeps the types of one route together. */
function route<Body extends z.ZodType, Query extends z.ZodType>(line: Route<Body, Query>): Route {
  return line;
}

/** What the page reads: its form is that of the page, and no promise. */
const OF_THE_PAGE = { type: "application/json" } as const;

export const ROUTES: readonly Route[] = [
  route({
    method: "POST",
    path: "/v1/executions",
    summary: "Run a program",
    scope: "run",
    body: EXECUTE_BODY,
    answers: { 200: REPORT_ANSWER, 202: ACCEPTED },
    handle: execute,
  }),
  route({
    method: "GET",
    path: "/v1/executions",
    summary: "List executions and conversations, the latest first",
    scope: "read",
    query: LIST_QUERY,
    answers: { 200: LIST },
    handle: reading(list),
  }),
  route({
    method: "GET",
    path: "/v1/executions/:id",
    summary: "State and report of an execution",
    scope: "read",
    query: STATUS_QUERY,
    answers: { 200: STATUS },
    handle: show,
  }),
  route({
    method: "GET",
    path: "/v1/executions/:id/view",
    summary: "What the page shows of an execution",
    scope: "read",
    answers: { 200: OF_THE_PAGE },
    handle: reading(view),
  }),
  route({
    method: "GET",
    path: "/v1/executions/:id/calls/:call",
    summary: "The whole input and result of one call",
    scope: "read",
    answers: { 200: OF_THE_PAGE },
    handle: reading(call),
  }),
  route({
    method: "GET",
    path: "/v1/executions/:id/artifacts/:name",
    summary: "A value that a program has kept",
    scope: "read",
    answers: { 200: ARTIFACT },
    handle: reading(artifact),
  }),
  route({
    method: "GET",
    path: "/v1/executions/:id/events",
    summary: "Events of an execution as they happen, from the one after Last-Event-ID on",
    scope: "read",
    answers: { 200: { type: "text/event-stream", event: HTTP_EVENT }, 204: undefined },
    handle: reading(events),
  }),
  route({
    method: "GET",
    path: "/v1/executions/:id/view/events",
    summary: "What the page shows of an execution: the event `view`, then an event `patch` for each change",
    scope: "read",
    answers: { 200: { type: "text/event-stream" } },
    handle: reading(viewEvents),
  }),
  route({
    method: "POST",
    path: "/v1/executions/:id/decisions",
    summary: "Decide calls that wait for a decision",
    scope: "decide",
    body: DECISIONS_BODY,
    answers: { 200: ACCEPTED },
    handle: reading(decide),
  }),
  route({
    method: "POST",
    path: "/v1/executions/:id/results",
    summary: "Answer calls that wait for a client's result",
    scope: "decide",
    body: RESULTS_BODY,
    answers: { 200: ACCEPTED },
    handle: reading(answer),
  }),
  route({
    method: "POST",
    path: "/v1/executions/:id/cancel",
    summary: "Cancel an execution",
    scope: "run",
    body: NO_BODY,
    answers: { 200: STATUS },
    handle: reading(cancel),
  }),
  route({
    method: "GET",
    path: "/v1/tools",
    summary: "The tools that the key may call, and run_program as a model is given it",
    scope: "run",
    query: TOOLS_QUERY,
    answers: { 200: TOOLS },
    handle: reading(tools),
  }),
  route({
    method: "GET",
    path: "/v1/tools/search",
    summary: "The tools that fit a query best",
    scope: "run",
    query: SEARCH_QUERY,
    answers: { 200: FOUND_TOOLS },
    handle: reading(searchTools),
  }),
  route({
    method: "GET",
    path: "/v1/models",
    summary: "The models of conversations, and what a conversation may take",
    scope: "converse",
    query: MODELS_QUERY,
    answers: { 200: MODELS },
    handle: models,
  }),
  route({
    method: "POST",
    path: "/v1/conversations",
    summary: "Begin a conversation with a model",
    scope: "converse",
    body: BEGIN_BODY,
    answers: { 200: CONVERSATION_STATUS, 202: ACCEPTED },
    handle: begin,
  }),
  route({
    method: "POST",
    path: "/v1/conversations/:id",
    summary: "Say more in a conversation, or go on with it",
    scope: "converse",
    body: SAY_BODY,
    answers: { 200: CONVERSATION_STATUS, 202: ACCEPTED },
    handle: continueIt,
  }),
  route({
    method: "POST",
    path: "/v1/conversations/:id/interrupt",
    summary: "Interrupt what is under way in a conversation",
    scope: "converse",
    body: NO_BODY,
    answers: { 200: CONVERSATION_STATUS },
    handle: reading(interrupt),
  }),
  route({
    method: "POST",
    path: "/v1/conversations/:id/end",
    summary: "End a conversation",
    scope: "converse",
    body: NO_BODY,
    answers: { 200: CONVERSATION_STATUS },
    handle: reading(endConversation),
  }),
  route({
    method: "GET",
    path: "/healthz",
    summary: "Whether the process answers",
    scope: "none",
    answers: { 200: HEALTH },
    handle: () => Response.json({ status: "ok" }),
  }),
  route({
    method: "GET",
    path: "/readyz",
    summary: "Whether the server takes programs and its journal answers",
    scope: "any",
    answers: { 200: READY },
    handle: ready,
  }),
  route({
    method: "GET",
    path: "/metrics",
    summary: "What the server counts, as Prometheus reads it",
    scope: "admin",
    answers: { 200: { type: "text/plain" } },
    handle: metricsText,
  }),
];
