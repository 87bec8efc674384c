import type { RecoveredConversation } from "../runtime/executions/index.ts";
import type { Model } from "../models/model.ts";
import { type ModelName, modelOf } from "../models/turn/index.ts";
import type { CheckedOptions } from "../base/index.ts";
import type { z } from "zod";
import type { MODELS_QUERY } from "./api/bodies.ts";
import { RequestProblem } from "./http/problems.ts";
import type { SERVER_RULES } from "./server-options.ts";

type Served = Pick<CheckedOptions<typeof SERVER_RULES>, "model" | "models" | "maxTurns" | "maxTokens">;

/** The models of a server: those that clients may choose, and those with which it continues conversations. */
export class ServedModels {
  readonly #listed: readonly Model[];
  readonly #parts: Served;

  /** Throws `model_unavailable` for a name whose key or SDK is missing. */
  constructor(parts: Served) {
    const { model = [] } = parts;
    this.#parts = parts;
    this.#listed = (Array.isArray(model) ? (model as readonly (Model | ModelName)[]) : [model as Model]).map(modelOf);
  }

  /** What a client is told before it begins a conversation. The first model is the default. */
  get offer() {
    const { maxTurns, maxTokens } = this.#parts;
    return { models: this.#listed.map(({ name }) => name), maxTurns, maxTokens };
  }

  /** The offer, which is also a page of the models, without their providers, as the vendors' clients read it. */
  page({ limit, after_id: after, before_id: before }: z.output<typeof MODELS_QUERY>) {
    const all = this.#listed.map(({ name }) => {
      const id = name.slice(name.indexOf(":") + 1);
      const ofOpenAi = { object: "model", created: 0, owned_by: "portcullis" };
      return { id, ...ofOpenAi, type: "model", display_name: id, created_at: new Date(0).toISOString() };
    });
    const from = after === undefined ? 0 : all.findIndex(({ id }) => id === after) + 1;
    const to = all.findIndex(({ id }) => id === before);
    const rest = all.slice(from, to === -1 ? undefined : to);
    const data = before === undefined ? rest.slice(0, limit) : rest.slice(-limit);
    const [first_id = null, last_id = null] = [data[0]?.id, data.at(-1)?.id];
    return { ...this.offer, object: "list", data, has_more: data.length < rest.length, first_id, last_id };
  }

  /** The model that a client has chosen, or the default. Throws a `RequestProblem`. */
  choose(name: string | undefined): Model {
    const [first] = this.#listed;
    if (!first)
      throw new RequestProblem(
        "model_unavailable",
        "This server has no model, so it holds no conversations. Its operator can give it one: portcullis serve --model, or createServer({ model }).",
      );
    const chosen = name === undefined ? first : this.#listed.find((model) => model.name === name);
    if (chosen) return chosen;
    const { models } = this.offer;
    throw new RequestProblem("request_invalid", `body.model: this server has ${models.join(", ")}.`);
  }

  /** The first model of this name, with or without its provider; undefined if there is none. */
  named(name: string): Model | undefined {
    const exact = this.#listed.find((model) => model.name === name);
    return exact ?? this.#listed.find((model) => model.name.slice(model.name.indexOf(":") + 1) === name);
  }

  /** The model that continues a conversation. Throws a `RequestProblem`. */
  continuing(conversation: RecoveredConversation): Model {
    const model = this.find(conversation);
    if (model) return model;
    throw new RequestProblem(
      "model_unavailable",
      `The server has no model ${conversation.model} to continue the conversation with.`,
    );
  }

  /** The same; undefined if the server does not have it. */
  find(conversation: RecoveredConversation): Model | undefined {
    const listed = this.#listed.find(({ name }) => name === conversation.model);
    // A host in JavaScript may say null if it has no model.
    return listed ?? this.#parts.models?.(conversation) ?? undefined;
  }

  /** Refuses a conversation that may take more than the operator allows. */
  refuseAbove(asked: { readonly maxTurns?: number | undefined; readonly maxTokens?: number | undefined }): void {
    for (const name of ["maxTurns", "maxTokens"] as const) {
      const most = this.#parts[name];
      if ((asked[name] ?? 0) > most)
        throw new RequestProblem("request_invalid", `body.${name}: at most ${most} on this server.`);
    }
  }
}
