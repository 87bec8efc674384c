import type { RecoveredConversation } from "../runtime/executions/index.ts";
import type { Model } from "../models/model.ts";
import { type ModelName, modelOf } from "../models/turn/index.ts";
import type { CheckedOptions } from "../base/index.ts";
import type { z } from "zod";
import type { MODELS_QUERY } from "./api/bodies.ts";
import { RequestProblem } from "./http/problems.ts";
import type { SERVER_RULES } from "./server-options.ts";

type Served = Pick<CheckedOptions<typeof SERVER_RULES>, "model" | "models" | "maxTurns" | "maxTokens">;

export type ServedModels = ReturnType<typeof servedModels>;

/**
 * The models of a server: those that clients may choose, and those with which it continues conversations. Throws
 * `model_unavailable` for a name whose key or SDK is missing.
 */
export function servedModels({ model = [], models, maxTurns, maxTokens }: Served) {
  const listed = (Array.isArray(model) ? (model as readonly (Model | ModelName)[]) : [model as Model]).map(modelOf);
  const exact = (name: string) => listed.find((one) => one.name === name);
  /** What a client is told before it begins a conversation. The first model is the default. */
  const offer = { models: listed.map(({ name }) => name), maxTurns, maxTokens };
  /** The model that continues a conversation; undefined if the server does not have it. A host in JavaScript may say null if it has no model. */
  const find = (conversation: RecoveredConversation): Model | undefined =>
    exact(conversation.model) ?? models?.(conversation) ?? undefined;
  return {
    offer,
    find,
    /** The offer, which is also a page of the models, without their providers, as the vendors' clients read it. */
    page: (query: z.output<typeof MODELS_QUERY>) => ({ ...offer, ...pageOf(listed.map(bareName), query) }),
    /** The model that a client has chosen, or the default. Throws a `RequestProblem`. */
    choose(name: string | undefined): Model {
      const [first] = listed;
      if (!first)
        throw new RequestProblem(
          "model_unavailable",
          "This server has no model, so it holds no conversations. Its operator can give it one: portcullis serve --model, or createServer({ model }).",
        );
      const chosen = name === undefined ? first : exact(name);
      if (chosen) return chosen;
      throw new RequestProblem("request_invalid", `body.model: this server has ${offer.models.join(", ")}.`);
    },
    /** The first model of this name, with or without its provider; undefined if there is none. */
    named: (name: string): Model | undefined => exact(name) ?? listed.find((one) => bareName(one) === name),
    /** As `find`. Throws a `RequestProblem` if the server does not have it. */
    continuing(conversation: RecoveredConversation): Model {
      const found = find(conversation);
      if (found) return found;
      throw new RequestProblem(
        "model_unavailable",
        `The server has no model ${conversation.model} to continue the conversation with.`,
      );
    },
    /** Refuses a conversation that may take more than the operator allows. */
    refuseAbove(asked: { readonly maxTurns?: number | undefined; readonly maxTokens?: number | undefined }): void {
      for (const name of ["maxTurns", "maxTokens"] as const)
        if ((asked[name] ?? 0) > offer[name])
          throw new RequestProblem("request_invalid", `body.${name}: at most ${offer[name]} on this server.`);
    },
  };
}

function bareName({ name }: Model): string {
  return name.slice(name.indexOf(":") + 1);
}

function pageOf(ids: readonly string[], { limit, after_id: after, before_id: before }: z.output<typeof MODELS_QUERY>) {
  const ofOpenAi = { object: "model", created: 0, owned_by: "portcullis" };
  const created_at = new Date(0).toISOString();
  const all = ids.map((id) => ({ id, ...ofOpenAi, type: "model", display_name: id, created_at }));
  const from = after === undefined ? 0 : ids.indexOf(after) + 1;
  const to = before === undefined ? -1 : ids.indexOf(before);
  const rest = all.slice(from, to === -1 ? undefined : to);
  const data = before === undefined ? rest.slice(0, limit) : rest.slice(-limit);
  const [first_id = null, last_id = null] = [data[0]?.id, data.at(-1)?.id];
  return { object: "list", data, has_more: data.length < rest.length, first_id, last_id };
}
