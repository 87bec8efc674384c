import { messagesSurface } from "../../models/anthropic/surface/messages-surface.ts";
import { RefusedAsk, type Surface } from "../../models/surface/surface.ts";
import type { OtherRoute } from "../other-routes.ts";
import { countedTokens } from "./count-tokens.ts";
import { type Gateway, refusalResponse } from "./gateway.ts";
import { refusalOfProblem } from "./refusals.ts";

/** The vendors' own paths. */
export function gatewayRoutes(gateway: Gateway): readonly OtherRoute[] {
  const anthropic = { ...refusing(messagesSurface), keyHeader: "x-api-key" };
  return [
    {
      ...anthropic,
      path: "/v1/messages",
      methods: ["POST"],
      handle: (request, key) => gateway.answer(messagesSurface, request, key),
    },
    {
      ...anthropic,
      path: "/v1/messages/count_tokens",
      methods: ["POST"],
      handle: (request, key) => gateway.count(messagesSurface, request, key, countedTokens),
    },
  ];
}

/** A client of the gateway converses with the server's models, and is refused in the words of its surface. */
function refusing(surface: Surface): Pick<OtherRoute, "scope" | "refuse"> {
  return {
    scope: "converse",
    refuse: (error, problem) =>
      refusalResponse(surface, error instanceof RefusedAsk ? error.refusal : refusalOfProblem(problem)),
  };
}
