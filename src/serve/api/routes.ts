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
  TOOLS_ANSWER,
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
import { handleCancel, endConversation, interrupt } from "./handlers/cancel.ts";
import { begin, continueIt, models } from "./handlers/converse.ts";
import { events, viewEvents } from "./handlers/events.ts";
import { handleExecute } from "./handlers/execute.ts";
import { handleAnswer, handleDecide } from "./handlers/decide-and-answer.ts";
import { type ApiRequest, refuseRevoked } from "./parts.ts";
import { artifact, call, list, view } from "./handlers/reads.ts";
import { show } from "./handlers/show.ts";
import { searchTools, tools } from "./handlers/tools.ts";

/** An answer that is no JSON, by its media type. Of a stream, `event` is the schema of each event's data. */
type Answer = z.ZodType | { readonly type: string; readonly event?: z.ZodType } | undefined;

/** One line of the door's table: what may be asked, by whom, and what is answered. Requests are checked by it, and the OpenAPI document is made of it. */
export interface Route {
  readonly method: "GET" | "POST";
  /** `:id` is the id of an execution. */
  readonly path: string;
  readonly summary: string;
  readonly scope: RouteScope;
  /** The body of a POST. A route that has one begins or changes something, so it is refused while the server closes. */
  readonly body?: z.ZodType;
  /** None by default. */
  readonly query?: z.ZodType;
  /** By status; undefined for an empty body. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** The body and the query are those that fit its schemas. */
  readonly handle: Handle<never, never>;
}

/** For a route that reads a journal, or all tools. Keys may change while it waits for its turn. */
function reading<Body, Query>(handle: Handle<Body, Query>): Handle<Body, Query> {
  return (request) =>
    request.inTurn(() => {
      refuseRevoked(request);
      return handle(request);
    });
}

type Handle<Body, Query> = (request: ApiRequest<Body, Query>) => Response | Promise<Response>;

function get<Query extends z.ZodType>(
  path: string,
  scope: RouteScope,
  summary: string,
  answers: Route["answers"],
  handle: Handle<unknown, z.output<Query>>,
  query?: Query,
): Route {
  return { method: "GET", path, scope, summary, answers, handle, query };
}

function post<Body extends z.ZodType>(
  path: string,
  scope: RouteScope,
  summary: string,
  body: Body,
  answers: Route["answers"],
  handle: Handle<z.output<Body>, unknown>,
): Route {
  return { method: "POST", path, scope, summary, body, answers, handle };
}

/** What the page reads: its form is that of the page, and no promise. */
const OF_THE_PAGE = { 200: { type: "application/json" } } as const;

const EVENTS = { 200: { type: "text/event-stream", event: HTTP_EVENT }, 204: undefined } as const;

const BEGUN = { 200: CONVERSATION_STATUS, 202: ACCEPTED } as const;

const EXECUTION = "/v1/executions/:id";
const CONVERSATION = "/v1/conversations/:id";

export const ROUTES: readonly Route[] = [
  post("/v1/executions", "run", "Run a program", EXECUTE_BODY, { 200: REPORT_ANSWER, 202: ACCEPTED }, handleExecute),
  get(
    "/v1/executions",
    "read",
    "List executions and conversations, the latest first",
    { 200: LIST },
    reading(list),
    LIST_QUERY,
  ),
  get(EXECUTION, "read", "State and report of an execution", { 200: STATUS }, show, STATUS_QUERY),
  get(`${EXECUTION}/view`, "read", "What the page shows of an execution", OF_THE_PAGE, reading(view)),
  get(`${EXECUTION}/calls/:call`, "read", "The whole input and result of one call", OF_THE_PAGE, reading(call)),
  get(`${EXECUTION}/artifacts/:name`, "read", "A value that a program has kept", { 200: ARTIFACT }, reading(artifact)),
  get(
    `${EXECUTION}/events`,
    "read",
    "Events of an execution as they happen, from the one after Last-Event-ID on",
    EVENTS,
    reading(events),
  ),
  get(
    `${EXECUTION}/view/events`,
    "read",
    "What the page shows of an execution: the event `view`, then an event `patch` for each change",
    { 200: { type: "text/event-stream" } },
    reading(viewEvents),
  ),
  post(
    `${EXECUTION}/decisions`,
    "decide",
    "Decide calls that wait for a decision",
    DECISIONS_BODY,
    { 200: ACCEPTED },
    reading(handleDecide),
  ),
  post(
    `${EXECUTION}/results`,
    "decide",
    "Answer calls that wait for a client's result",
    RESULTS_BODY,
    { 200: ACCEPTED },
    reading(handleAnswer),
  ),
  post(`${EXECUTION}/cancel`, "run", "Cancel an execution", NO_BODY, { 200: STATUS }, reading(handleCancel)),
  get(
    "/v1/tools",
    "run",
    "The tools that the key may call, and run_program as a model is given it",
    { 200: TOOLS_ANSWER },
    reading(tools),
    TOOLS_QUERY,
  ),
  get(
    "/v1/tools/search",
    "run",
    "The tools that fit a query best",
    { 200: FOUND_TOOLS },
    reading(searchTools),
    SEARCH_QUERY,
  ),
  get(
    "/v1/models",
    "converse",
    "The models of conversations, and what a conversation may take",
    { 200: MODELS },
    models,
    MODELS_QUERY,
  ),
  post("/v1/conversations", "converse", "Begin a conversation with a model", BEGIN_BODY, BEGUN, begin),
  post(CONVERSATION, "converse", "Send a message to a conversation, or continue it", SAY_BODY, BEGUN, continueIt),
  post(
    `${CONVERSATION}/interrupt`,
    "converse",
    "Interrupt what is under way in a conversation",
    NO_BODY,
    { 200: CONVERSATION_STATUS },
    reading(interrupt),
  ),
  post(
    `${CONVERSATION}/end`,
    "converse",
    "End a conversation",
    NO_BODY,
    { 200: CONVERSATION_STATUS },
    reading(endConversation),
  ),
  get("/healthz", "none", "Whether the process answers", { 200: HEALTH }, () => Response.json({ status: "ok" })),
  get("/readyz", "any", "Whether the server takes programs and its journal answers", { 200: READY }, ready),
  get(
    "/metrics",
    "admin",
    "What the server counts, as Prometheus reads it",
    { 200: { type: "text/plain" } },
    metricsText,
  ),
];
