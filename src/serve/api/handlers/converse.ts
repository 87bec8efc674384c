import { randomUUID } from "node:crypto";
import type { z } from "zod";
import type { SendOptions } from "../../../conversations/agent-options.ts";
import { type ExecutionId, given, PortcullisError } from "../../../base/index.ts";
import { limitsOf } from "../../../executions/limits.ts";
import type { Header } from "../../../journal/record.ts";
import type { Runtime } from "../../../runtime/create-runtime.ts";
import type { Key } from "../../http/keys.ts";
import { RequestProblem } from "../../http/problems.ts";
import type { BEGIN_BODY, MODELS_QUERY, SAY_BODY } from "../bodies.ts";
import { jsonAnswer } from "../json-answer.ts";
import {
  accepted,
  type ApiParts,
  type ApiRequest,
  refuseIfElsewhere,
  ownConversation,
  refuseElsewhere,
  runtimeWith,
  takePlace,
  untilBegun,
} from "../parts.ts";
import { refuseAboveLimits, refuseLanguage, schemaOf } from "./execute.ts";
import { statusAnswer } from "./show.ts";

type BeginRequest = ApiRequest<z.output<typeof BEGIN_BODY>, unknown>;
type SayRequest = ApiRequest<z.output<typeof SAY_BODY>, unknown>;

/** `GET /v1/models`: what conversations may be begun with. */
export function models({ served }: ApiParts, { query }: ApiRequest<unknown, z.output<typeof MODELS_QUERY>>): Response {
  return Response.json(served.page(query));
}

/** `POST /v1/conversations`: begins a conversation. What has begun goes on, whatever becomes of the request. */
export async function begin(parts: ApiParts, request: BeginRequest): Promise<Response> {
  const { key, body, about } = request;
  const { message, id: execution = randomUUID(), model: name, answer: schema, wait: _, ...chosen } = body;
  const { served } = parts;
  const { runtime } = runtimeWith(parts, key, { ...chosen, schema, name });
  const model = served.choose(name);
  served.refuseAbove(body);
  refuseAboveLimits(body.limits, runtime);
  refuseLanguage(body.language, runtime);
  const answer = await schemaOf(key, schema, "body.answer");
  const id = body.id === undefined ? execution : await parts.ids.stored(key.tenant, execution);
  await refuseIfElsewhere(parts, key, id);
  about(execution);
  const { maxTurns, maxTokens } = served.offer;
  const { maxTurns: turns = maxTurns, maxTokens: tokens = maxTokens, maxOutputTokens, reasoning, ...others } = chosen;
  const settings = given({ maxOutputTokens, reasoning });
  const loop = { maxTurns: turns, maxTokens: tokens };
  const options = { ...given(others), ...given({ answer }), settings, loop, expect: 0, model };
  return say(parts, request, { runtime, id, message, options });
}

/** `POST /v1/conversations/:id`: says more in a conversation, or goes on with it. */
export async function continueIt(parts: ApiParts, request: SayRequest): Promise<Response> {
  const { key, body, signal } = request;
  const { message, expect } = body;
  const { tenant } = key;
  const { id, model } = await parts.readings.run(key.id, signal, async () => {
    const own = await ownConversation(parts, key, request.id, (header) => {
      refuseWider(key, header);
      return refuseElsewhere(parts, key, header);
    });
    const { conversation } = await parts.runtime.execution(own, { tenant }).status();
    if (!conversation) throw new Error("A conversation has the status of one.");
    return { id: own, model: parts.served.continuing({ execution: own, tenant, ...conversation }) };
  });
  // Only `expect` tells whether it is the same message again.
  if (expect === undefined && parts.runs.has(id))
    throw new PortcullisError("conversation_busy", "The conversation is at work.");
  const runtime = parts.keys.runtimeOf(key);
  return say(parts, request, { runtime, id, message, options: { ...given({ expect }), model } });
}

interface Saying {
  readonly runtime: Runtime;
  readonly id: ExecutionId;
  readonly message: z.output<typeof SAY_BODY>["message"];
  readonly options: SendOptions<unknown, unknown>;
}

async function say(
  parts: ApiParts,
  request: BeginRequest | SayRequest,
  { runtime, id, message, options }: Saying,
): Promise<Response> {
  const { key, signal: left } = request;
  const release = takePlace(parts, key);
  const said = Promise.withResolvers<void>();
  const { onEvent } = parts;
  const saying = (signal: AbortSignal, next: () => void) => {
    const onSaid = () => {
      said.resolve();
      next();
    };
    return runtime.execution(id).send<unknown>(message, { ...options, signal, onEvent, onSaid });
  };
  const running = parts.runs.say(id, saying).finally(release);
  await untilBegun(parts, request, id, { running, stored: said.promise });
  if (!request.body.wait) return accepted(parts, key, id);
  return parts.readings.run(key.id, left, async () => jsonAnswer(key, await statusAnswer(parts, key, id)));
}

/** A key continues no conversation that may take more than the key's own limits allow. */
function refuseWider({ limits = {} }: Key, header: Header): void {
  const allowed: Readonly<Record<string, number>> = { ...limitsOf(header) };
  for (const [name, most] of Object.entries(limits)) {
    const has = allowed[name];
    if (most !== undefined && has !== undefined && has > most)
      throw new RequestProblem(
        "request_invalid",
        `The conversation was begun with ${name} ${has}, above this key's ${most}: this key cannot continue it.`,
      );
  }
}
