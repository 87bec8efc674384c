import { RefusedAsk, type StoredItems, type Surface } from "../../models/surface/surface.ts";
import type { Fields } from "../../values/fields.ts";
import type { Key } from "../http/keys.ts";
import { ClientIds } from "./carried/client-ids.ts";
import { ClientTools } from "./client-tools.ts";
import { repliesIfAny, type Telling, told } from "./from-journal/told.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import { inputsOf } from "./inputs.ts";
import { previousOf } from "./plan.ts";
import { newRequestId } from "./refusals.ts";
import type { Turns } from "./turns.ts";

/** Names of tools are those of the conversation where a request does not declare them. */
const NO_TOOLS = new ClientTools([]);

/** The answers that were given before, as clients refer to them, ask for them again and delete them. */
export class StoredAnswers {
  readonly #parts: GatewayParts;
  readonly #turns: Turns;

  constructor(parts: GatewayParts, turns: Turns) {
    this.#parts = parts;
    this.#turns = turns;
  }

  /** The items to which a request refers, as far as this server has given them to the key. */
  async items(surface: Surface, body: unknown, { ids, key }: Pick<Telling, "ids" | "key">): Promise<StoredItems> {
    const items = new Map<string, Fields>();
    const known = new Set<string>();
    for (const id of surface.references?.(body) ?? []) {
      const execution = ids.executionOf(id);
      if (execution === undefined || known.has(execution)) continue;
      known.add(execution);
      const replies = await repliesIfAny(this.#parts.runtime.journal, execution, key.tenant);
      for (const { parts } of replies?.all ?? [])
        for (const part of parts) {
          const item = surface.item?.(ids.part(execution, part, NO_TOOLS));
          if (item) items.set(String(item.id), item);
        }
    }
    return items;
  }

  /** Throws `RefusedAsk` if there is no answer of this id for this key. */
  async #given(surface: Surface, id: string, key: Key) {
    const ids = new ClientIds(this.#parts.seals, key, surface.ids);
    const found = await previousOf({ runtime: this.#parts.runtime, key, ids }, id);
    if (found) return { ids, found };
    throw new RefusedAsk({ kind: "not_found", message: `Response with id '${id.slice(0, 256)}' not found.` });
  }

  /** What was new in the request of an answer that was given before. */
  async showInput(surface: Surface, id: string, key: Key): Promise<Response> {
    const { ids, found } = await this.#given(surface, id, key);
    const headers = { [surface.requestIdHeader]: newRequestId() };
    return Response.json(surface.inputs?.(inputsOf(found, ids)), { headers });
  }

  /** Ends the conversation of an answer that was given before: none of its answers is given again. */
  async remove(surface: Surface, id: string, key: Key): Promise<Response> {
    const { found } = await this.#given(surface, id, key);
    const { execution, replies } = found;
    const { runtime, served } = this.#parts;
    const end = await this.#turns.take(execution);
    try {
      const { model: name } = replies.state.answering;
      const model = served.continuing({
        execution,
        tenant: key.tenant,
        ...(await this.#statusOf(execution, key, name)),
      });
      const options = { model, tenant: key.tenant, allowChangedTools: true };
      const signal = AbortSignal.abort(new Error("A client has deleted it."));
      if (replies.state.open.size > 0)
        await runtime.resumeAgent(execution, { ...options, signal, approve: () => "later" });
      const talk = await runtime.converse({ ...options, continue: execution });
      await talk[Symbol.asyncDispose]();
    } finally {
      end();
    }
    const headers = { [surface.requestIdHeader]: newRequestId() };
    return Response.json({ id, object: "response", deleted: true }, { headers });
  }

  async #statusOf(execution: string, { tenant }: Key, model: string) {
    const { conversation } = await this.#parts.runtime.status(execution, { tenant });
    if (!conversation) throw new Error("A conversation has the status of one.");
    return { ...conversation, model };
  }

  /** An answer that was given before. */
  async show(surface: Surface, id: string, key: Key): Promise<Response> {
    const { ids, found } = await this.#given(surface, id, key);
    const { header, answering } = found.replies.state;
    const model = header.model.slice(header.model.indexOf(":") + 1);
    const echo = { instructions: answering.instructions ?? null, tools: [], tool_choice: "auto", store: true };
    const asked = { model, echo, isStored: true };
    const { parts, end, facts } = await told(
      { journal: this.#parts.runtime.journal, pauseMs: this.#parts.pauseMs, ids, tools: NO_TOOLS, key, asked },
      found,
    );
    const headers = { [surface.requestIdHeader]: newRequestId() };
    return Response.json(surface.reply(parts, end, { ...facts, at: header.startedAt }), { headers });
  }
}
