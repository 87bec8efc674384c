import { messagesSurface } from "./surface/anthropic/messages-surface.ts";
import { responsesSurface } from "./surface/openai/responses-surface.ts";
import { RefusedAsk, type Surface } from "./surface/surface.ts";
import type { Key } from "../http/keys.ts";
import type { OtherRoute, RefusalForm } from "../other-routes.ts";
import { answerRequest, countRequest } from "./gateway.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import { removeAnswer } from "./stored-answers.ts";
import { refusalOfProblem, refusalResponse } from "./refusals.ts";

/** The vendors' own paths. */
export function gatewayRoutes(gateway: GatewayParts): readonly OtherRoute[] {
  const parts = { ...gateway, driven: new Map() };
  const messages = routesOf(messagesSurface, parts, KEY_HEADER);
  const responses = routesOf(responsesSurface, parts);
  return [
    messages("/v1/messages", answerRequest),
    messages("/v1/messages/count_tokens", countRequest),
    responses("/v1/responses", answerRequest),
    responses("/v1/responses/input_tokens", countRequest),
    responses("/v1/responses/:response", removeAnswer, "DELETE"),
  ];
}

const KEY_HEADER = "x-api-key";
/** Paths of OpenAI, beside those that are served. Those of Anthropic are known by a header that its clients send. */
const OF_OPENAI =
  /^\/v1\/(responses|chat|completions|embeddings|files|batches|images|audio|moderations|uploads|vector_stores|fine_tuning|assistants|threads|models(?=\/))(\/|$)/;

/** How a request of the vendors' clients is refused on a path that is none of the gateway; nothing for other requests. */
export function vendorsForm(request: Request): RefusalForm {
  const isMessages = request.headers.has("anthropic-version");
  if (!isMessages && !OF_OPENAI.test(new URL(request.url).pathname)) return {};
  const surface = isMessages ? messagesSurface : responsesSurface;
  return formOf(surface, KEY_HEADER);
}

function formOf(surface: Surface, keyHeader?: string): RefusalForm {
  return { keyHeader, refuse: (problem) => refusalResponse(surface, refusalOfProblem(problem)) };
}

type Handle<Parts> = (parts: Parts, surface: Surface, request: Request, key: Key) => Promise<Response>;

/** Routes whose clients converse with the server's models, and are refused in the words of their surface. */
function routesOf<Parts>(surface: Surface, parts: Parts, keyHeader?: string) {
  return (path: string, handle: Handle<Parts>, method = "POST"): OtherRoute => ({
    path,
    methods: [method],
    scope: "converse",
    handle: (request, key) =>
      handle(parts, surface, request, key).catch((error: unknown) => {
        if (error instanceof RefusedAsk) return refusalResponse(surface, error.refusal);
        throw error;
      }),
    form: () => formOf(surface, keyHeader),
  });
}
