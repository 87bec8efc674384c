import type { z } from "zod";
import type { SendOptions } from "../../../conversations/agent-options.ts";
import { type ExecutionId, PortcullisError } from "../../../base/index.ts";
import { limitsOf } from "../../../executions/limits.ts";
import type { Runtime } from "../../../runtime/create-runtime.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { BEGIN_BODY, MODELS_QUERY, SAY_BODY } from "../bodies.ts";
import {
  acceptedResponse,
  type ApiRequest,
  ownConversation,
  refuseElsewhere,
  takePlace,
  untilBegun,
} from "../parts.ts";
import { limitAbove } from "../../runtime-for.ts";
import { beginning } from "./execute.ts";
import { statusAnswer } from "./show.ts";

type BeginRequest = ApiRequest<z.output<typeof BEGIN_BODY>>;
type SayRequest = ApiRequest<z.output<typeof SAY_BODY>>;

/** `GET /v1/models`: what conversations may be begun with. */
export function models({ served, query }: ApiRequest<unknown, z.output<typeof MODELS_QUERY>>): Response {
  return Response.json(served.page(query));
}

/** `POST /v1/conversations`: begins a conversation. What has begun goes on, whatever becomes of the request. */
export async function begin(request: BeginRequest): Promise<Response> {
  const { body, served } = request;
  const { message, id: _id, model: name, answer: schema, wait: _wait, ...chosen } = body;
  const model = served.choose(name);
  served.refuseAbove(body);
  const asked = { ...chosen, schema, name };
  const { runtime, id, schema: answer } = await beginning(request, asked, ["answer", schema]);
  const { maxTurns, maxTokens } = served.offer;
  const { maxTurns: turns = maxTurns, maxTokens: tokens = maxTokens, maxOutputTokens, reasoning, ...others } = chosen;
  const loop = { maxTurns: turns, maxTokens: tokens };
  const options = { ...others, answer, settings: { maxOutputTokens, reasoning }, loop, expect: 0, model };
  return say(request, { runtime, id, message, options });
}

/** `POST /v1/conversations/:id`: says more in a conversation, or goes on with it. */
export async function continueIt(request: SayRequest): Promise<Response> {
  const { key, body, served } = request;
  const { message, expect } = body;
  const { tenant } = key;
  const { id, model } = await request.inTurn(async () => {
    const own = await ownConversation(request, (header) => {
      const above = limitAbove(limitsOf(header), key.limits);
      if (above)
        throw new RequestProblem(
          "request_invalid",
          `The conversation was begun with ${above.name} ${above.value}, above this key's ${above.most}: this key cannot continue it.`,
        );
      return refuseElsewhere(request, header);
    });
    const { conversation } = await request.handleOf(own).status();
    if (!conversation) throw new Error("A conversation has the status of one.");
    return { id: own, model: served.continuing({ execution: own, tenant, ...conversation }) };
  });
  // Only `expect` tells whether it is the same message again.
  if (expect === undefined && request.runs.has(id))
    throw new PortcullisError("conversation_busy", "The conversation is at work.");
  const runtime = request.keys.runtimeOf(key);
  return say(request, { runtime, id, message, options: { expect, model } });
}

interface Saying {
  readonly runtime: Runtime;
  readonly id: ExecutionId;
  readonly message: z.output<typeof SAY_BODY>["message"];
  readonly options: SendOptions<unknown, unknown>;
}

async function say(request: BeginRequest | SayRequest, { runtime, id, message, options }: Saying): Promise<Response> {
  const { onEvent } = request;
  const release = takePlace(request);
  const receipt = Promise.withResolvers<void>();
  const saying = (signal: AbortSignal, next: () => void) => {
    const onSaid = () => {
      receipt.resolve();
      next();
    };
    return runtime.execution(id).send<unknown>(message, { ...options, signal, onEvent, onSaid });
  };
  const running = request.runs.say(id, saying).finally(release);
  await untilBegun(request, id, { running, stored: receipt.promise });
  if (!request.body.wait) return acceptedResponse(request, id);
  return request.inTurn(() => statusAnswer(request, id));
}
