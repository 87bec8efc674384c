import { type Fields, Lane, type SlicedWork } from "../../base/index.ts";
import { invalidField, RefusedAsk, type AnswerPart, type StoredItems, type Surface } from "./surface/surface.ts";
import { ifKnown } from "../../journal/reading/index.ts";
import type { Key } from "../http/keys.ts";
import { clientIds, executionOf } from "./carried/client-ids.ts";
import { isStoredExecution } from "./carried/seals.ts";
import type { JournalPart } from "./from-journal/replies.ts";
import type { Exchange, GatewayParts } from "./gateway-parts.ts";
import { findReplies, previousOf } from "./plan.ts";
import { newRequestId } from "./refusals.ts";

/** Conversations to whose items one request may refer. */
const MOST_REFERRED = 1000;

/**
 * The items to which a request refers, as far as this server has given them to the key. `hold` counts their bytes, of
 * which a reference has few. Throws `RefusedAsk` for references to too many conversations.
 */
export async function storedItems(
  { runtime }: GatewayParts,
  surface: Surface,
  body: unknown,
  { ids, key, hold }: Pick<Exchange, "ids" | "key"> & { readonly hold: (bytes: number) => void },
): Promise<StoredItems> {
  const items = new Map<string, Fields>();
  const wanted = new Set(surface.references?.(body));
  const named = new Set([...wanted].flatMap((id) => executionOf(id) ?? []));
  if (named.size > MOST_REFERRED)
    throw invalidField("input", `its references are to items of more than ${MOST_REFERRED} conversations`);
  for (const execution of named) {
    if (!isStoredExecution(execution)) continue;
    const replies = await ifKnown(() => findReplies({ runtime, key }, execution));
    const parts = replies?.all.flatMap((reply) => reply.parts) ?? [];
    const find = function* (): SlicedWork<number> {
      let bytes = 0;
      for (const part of parts.filter(isKnown)) {
        const item = surface.item?.(ids.part(execution, part));
        yield;
        if (!item || !wanted.has(String(item.id))) continue;
        bytes += Buffer.byteLength(partText(part));
        items.set(String(item.id), item);
      }
      return bytes;
    };
    hold(await new Lane(key.tenant).work(find()));
  }
  return items;
}

/** Ends the conversation of an answer that was given before: no request goes on after it. */
export async function removeAnswer(
  { runtime, readings, secrets, expiry }: GatewayParts,
  surface: Surface,
  { url, signal }: Request,
  key: Key,
): Promise<Response> {
  const id = /^\/v1\/responses\/([^/]{1,512})/.exec(new URL(url).pathname)?.[1] ?? "";
  const ids = clientIds(secrets, key, surface.ids);
  const read = () =>
    readings.run(key.id, signal, async () => (await previousOf({ runtime, key, ids }, id)) ?? none(id));
  const { execution } = (await read()).replies.state.header;
  const end = await expiry.turns.take(execution);
  try {
    // A request before this one may have gone on with it.
    await read();
    await expiry.end(execution, key.tenant);
  } finally {
    end();
  }
  const headers = { [surface.requestIdHeader]: newRequestId() };
  return Response.json({ id, object: "response", deleted: true }, { headers });
}

function none(id: string): never {
  throw new RefusedAsk({ kind: "not_found", message: `Response with id '${id.slice(0, 256)}' not found.` });
}

function isKnown(part: JournalPart): boolean {
  return part.type !== "call" || part.inputText !== undefined;
}

/** The text of a part, without what frames it. */
export function partText(part: JournalPart | AnswerPart): string {
  if (part.type === "call") return part.inputText ?? "";
  return part.type === "program" ? part.source : part.text;
}
