import { messagesSurface } from "./surface/anthropic/messages-surface.ts";
import { responsesSurface } from "./surface/openai/responses-surface.ts";
import { RefusedAsk, type Surface } from "./surface/surface.ts";
import type { OtherRoute } from "../other-routes.ts";
import { Gateway } from "./gateway.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import { removeAnswer } from "./stored-answers.ts";
import { refusalOfProblem, refusalResponse } from "./refusals.ts";

/** The vendors' own paths. */
export function gatewayRoutes(parts: GatewayParts): readonly OtherRoute[] {
  const gateway = new Gateway(parts);
  const messages = routesOf(messagesSurface, KEY_HEADER);
  const responses = routesOf(responsesSurface);
  return [
    messages("/v1/messages", ["POST"], (request, key) => gateway.answer(messagesSurface, request, key)),
    messages("/v1/messages/count_tokens", ["POST"], (request, key) => gateway.count(messagesSurface, request, key)),
    responses("/v1/responses", ["POST"], (request, key) => gateway.answer(responsesSurface, request, key)),
    responses("/v1/responses/input_tokens", ["POST"], (request, key) => gateway.count(responsesSurface, request, key)),
    responses("/v1/responses/:response", ["DELETE"], ({ url, signal }, key) =>
      removeAnswer(parts, responsesSurface, idIn(url), { key, signal }),
    ),
  ];
}

const KEY_HEADER = "x-api-key";
/** Paths of OpenAI, beside those that are served. Those of Anthropic are known by a header that its clients send. */
const OF_OPENAI =
  /^\/v1\/(responses|chat|completions|embeddings|files|batches|images|audio|moderations|uploads|vector_stores|fine_tuning|assistants|threads|models(?=\/))(\/|$)/;

/** How a request of the vendors' clients is refused on a path that is none of the gateway; nothing for other requests. */
export function vendorsForm(request: Request): Pick<OtherRoute, "refuse" | "keyHeader"> {
  const isMessages = request.headers.has("anthropic-version");
  if (!isMessages && !OF_OPENAI.test(new URL(request.url).pathname)) return {};
  const surface = isMessages ? messagesSurface : responsesSurface;
  return { keyHeader: KEY_HEADER, refuse: (problem) => refusalResponse(surface, refusalOfProblem(problem)) };
}

/** The id in the path of a response. */
function idIn(url: string): string {
  return /^\/v1\/responses\/([^/]{1,512})/.exec(new URL(url).pathname)?.[1] ?? "";
}

/** Routes whose clients converse with the server's models, and are refused in the words of their surface. */
function routesOf(surface: Surface, keyHeader?: string) {
  return (path: string, methods: readonly string[], handle: OtherRoute["handle"]): OtherRoute => ({
    path,
    methods,
    scope: "converse",
    ...(keyHeader === undefined ? {} : { keyHeader }),
    handle: async (request, key) => {
      try {
        return await handle(request, key);
      } catch (error) {
        if (error instanceof RefusedAsk) return refusalResponse(surface, error.refusal);
        throw error;
      }
    },
    refuse: (problem) => refusalResponse(surface, refusalOfProblem(problem)),
  });
}
