import { now } from "../../clock.ts";
import { messagesSurface } from "../../models/anthropic/surface/messages-surface.ts";
import { responsesSurface } from "../../models/openai/surface/responses-surface.ts";
import { RefusedAsk, type Surface } from "../../models/surface/surface.ts";
import type { OtherRoute } from "../other-routes.ts";
import type { Gateway } from "./gateway.ts";
import { refusalOfProblem, refusalResponse } from "./refusals.ts";

/** The vendors' own paths. */
export function gatewayRoutes(gateway: Gateway): readonly OtherRoute[] {
  const messages = routesOf(messagesSurface, "x-api-key");
  const responses = routesOf(responsesSurface);
  return [
    messages("/v1/messages", ["POST"], (request, key) => gateway.answer(messagesSurface, request, key)),
    messages("/v1/messages/count_tokens", ["POST"], (request, key) => gateway.count(messagesSurface, request, key)),
    responses("/v1/responses", ["POST"], (request, key) => gateway.answer(responsesSurface, request, key)),
    responses("/v1/responses/input_tokens", ["POST"], (request, key) => gateway.count(responsesSurface, request, key)),
    responses("/v1/responses/:id", ["DELETE"], ({ url, signal }, key) =>
      gateway.stored.remove(responsesSurface, idIn(url), { key, signal }),
    ),
  ];
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
    rateHeaders: (left) => surface.rateHeaders(left, now()),
    refuse: (problem) => refusalResponse(surface, refusalOfProblem(problem)),
  });
}
