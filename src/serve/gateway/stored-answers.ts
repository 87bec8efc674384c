import { refused, RefusedAsk, type StoredItems, type Surface } from "../../models/surface/surface.ts";
import type { Fields } from "../../values/fields.ts";
import type { Key } from "../http/keys.ts";
import { ClientIds } from "./carried/client-ids.ts";
import { ClientTools } from "./client-tools.ts";
import type { ToldPart } from "./from-journal/replies.ts";
import { repliesIfAny, type Telling, told } from "./from-journal/told.ts";
import type { GatewayParts } from "./gateway-parts.ts";
import { endConversation } from "./end-conversation.ts";
import { inputsOf } from "./inputs.ts";
import { previousOf } from "./plan.ts";
import { newRequestId } from "./refusals.ts";
import type { Turns } from "./turns.ts";

/** Conversations to whose items one request may refer. */
const MOST_REFERRED = 1000;

/** Names of tools are those of the conversation where a request does not declare them. */
const NO_TOOLS = new ClientTools([]);

/** A request about an answer that was given before. */
export interface AnswerAsked {
  readonly key: Key;
  readonly signal: AbortSignal;
}

/** The answers that were given before, as clients refer to them, ask for them again and delete them. */
export class StoredAnswers {
  readonly #parts: GatewayParts;
  readonly #turns: Turns;

  constructor(parts: GatewayParts, turns: Turns) {
    this.#parts = parts;
    this.#turns = turns;
  }

  /**
   * The items to which a request refers, as far as this server has given them to the key. `hold` counts their bytes, of
   * which a reference has few. Throws `RefusedAsk` for references to too many conversations.
   */
  async items(
    surface: Surface,
    body: unknown,
    { ids, key, hold }: Pick<Telling, "ids" | "key"> & { readonly hold: (bytes: number) => void },
  ): Promise<StoredItems> {
    const items = new Map<string, Fields>();
    const wanted = new Set(surface.references?.(body));
    const named = new Set([...wanted].flatMap((id) => ids.executionOf(id) ?? []));
    if (named.size > MOST_REFERRED)
      throw refused("input", `its references are to items of more than ${MOST_REFERRED} conversations`);
    for (const execution of named) {
      const replies = await repliesIfAny(this.#parts.runtime.journal, execution, key.tenant);
      let bytes = 0;
      for (const part of replies?.all.flatMap(({ parts }) => parts) ?? []) {
        const item = surface.item?.(ids.part(execution, part, NO_TOOLS));
        if (!item || !wanted.has(String(item.id))) continue;
        bytes += Buffer.byteLength(textIn(part));
        items.set(String(item.id), item);
      }
      hold(bytes);
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
  showInput(surface: Surface, id: string, { key, signal }: AnswerAsked): Promise<Response> {
    return this.#parts.readings.run(key.id, signal, async () => {
      const { ids, found } = await this.#given(surface, id, key);
      const headers = { [surface.requestIdHeader]: newRequestId() };
      return Response.json(surface.inputs?.(inputsOf(found, ids)), { headers });
    });
  }

  /** Ends the conversation of an answer that was given before: none of its answers is given again. */
  async remove(surface: Surface, id: string, { key, signal }: AnswerAsked): Promise<Response> {
    const read = () => this.#parts.readings.run(key.id, signal, () => this.#given(surface, id, key));
    const { execution } = (await read()).found;
    const end = await this.#turns.take(execution);
    try {
      // A request before this one may have gone on with it.
      const { replies } = (await read()).found;
      const { answering, open } = replies.state;
      const ending = { execution, tenant: key.tenant, model: answering.model, hasOpenCalls: open.size > 0 };
      await endConversation(this.#parts, ending);
    } finally {
      end();
    }
    const headers = { [surface.requestIdHeader]: newRequestId() };
    return Response.json({ id, object: "response", deleted: true }, { headers });
  }

  /** An answer that was given before. */
  show(surface: Surface, id: string, { key, signal }: AnswerAsked): Promise<Response> {
    return this.#parts.readings.run(key.id, signal, () => this.#shown(surface, id, key));
  }

  async #shown(surface: Surface, id: string, key: Key): Promise<Response> {
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

/** The text of a part, without what frames it. */
function textIn(part: ToldPart): string {
  if (part.type === "call") return part.inputText;
  return part.type === "program" ? part.source : part.text;
}
