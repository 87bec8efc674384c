import { isDeepStrictEqual } from "node:util";
import { settingsOf } from "../../conversations/index.ts";
import { messageText } from "../../conversations/prompt/said-message.ts";
import { areSame, type TextReader, untrusted, type UntrustedText } from "../../base/index.ts";
import { areRecorded } from "../../gate/header-base.ts";
import type { Asked } from "./surface/surface.ts";
import type { ClientTools } from "./client-tools.ts";
import { type Replies, turnsUntil } from "./from-journal/replies.ts";
import { settingsFor } from "./say-options.ts";

/*
 * Whether a request goes on with a conversation that the journal has: its client repeats the whole history, and may have
 * changed it.
 */

/** What the messages of a request, or the turns of a conversation, come to for the client. */
interface Item {
  readonly said?: string;
  readonly text?: string;
  readonly program?: string;
  readonly tool?: string;
  /** Of a call. Clients write it anew. */
  readonly input?: UntrustedText;
}

/** Whether the client asks with the same tools, instructions and settings. */
export function isSameOpening(asked: Asked, tools: ClientTools, { state }: Pick<Replies, "state">): boolean {
  const { instructions } = state.answering;
  const own = asked.instructions === undefined ? undefined : `# Instructions\n\n${asked.instructions.trim()}`;
  if (asked.settings.answer === undefined && own !== instructions) return false;
  if (!areRecorded(tools.all, state.tools)) return false;
  return isDeepStrictEqual(settingsOf(state.header).settings ?? {}, { ...settingsFor(asked, tools) });
}

/** Whether the client asks the same after the history that ends with an answer of this number. */
export async function isSameConversation(
  asked: Asked,
  tools: ClientTools,
  { replies, reply }: { readonly replies: Replies; readonly reply: number },
  reader: TextReader,
): Promise<boolean> {
  if (!isSameOpening(asked, tools, replies)) return false;
  const [own, known] = [joined(itemsAsked(asked, tools)), joined(itemsUntil(replies, reply))];
  const inputs: (readonly [UntrustedText, UntrustedText])[] = [];
  const isSame = own.every(({ input, ...words }, index) => {
    const { input: there, ...others } = known[index] ?? {};
    if (input !== undefined && there !== undefined) inputs.push([input, there]);
    return isDeepStrictEqual(words, others);
  });
  return isSame && own.length === known.length && (await areSame(inputs, reader));
}

function itemsAsked({ turns }: Asked, tools: ClientTools): readonly Item[] {
  return turns.flatMap(({ said, text, calls }): Item[] => [
    ...said.map((message): Item => ({ said: messageText(message) })),
    { text },
    ...calls.map((call): Item =>
      call.type === "program_call"
        ? { program: call.source ?? "" }
        : { tool: tools.own(call.tool), input: untrusted(call.inputText) },
    ),
  ]);
}

/** The calls that the client has seen, by turn and place. */
function shownCalls({ all }: Replies): ReadonlySet<string> {
  const places = all.flatMap(({ parts }) => parts.flatMap((part) => ("place" in part ? [part.place] : [])));
  return new Set(places.map(({ turn, call }) => `${turn}.${call}`));
}

/** What the conversation comes to with the turns that answers up to this one have told, and none that the client has not seen. */
function itemsUntil(replies: Replies, reply: number): readonly Item[] {
  const { header, turns } = replies.state;
  const copied = header.continues?.turns ?? 0;
  const shown = shownCalls(replies);
  return turns.slice(0, turnsUntil(replies, reply)).flatMap(({ said, turn }, index): Item[] => [
    ...said.flatMap(({ by, message }): Item[] => (by === "user" ? [{ said: messageText(message) }] : [])),
    { text: turn.text },
    ...turn.calls.flatMap((call, place): Item[] => {
      if (index >= copied && !shown.has(`${index}.${place}`)) return [];
      if (call.type === "program_call") return [{ program: call.source ?? "" }];
      return [{ tool: call.tool, input: untrusted(call.inputText) }];
    }),
  ]);
}

/** Texts beside each other as one, because clients join and divide them. */
function joined(items: readonly Item[]): readonly Item[] {
  const all: Item[] = [];
  for (const item of items) {
    const last = all.at(-1);
    if (item.text === "") continue;
    if (item.text !== undefined && last?.text !== undefined) all[all.length - 1] = { text: last.text + item.text };
    else all.push(item);
  }
  return all;
}
