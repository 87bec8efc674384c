import { optionError } from "../errors.ts";
import { toolDigest } from "../tools/tool-digest.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import { shownTo } from "./agent.ts";
import type { LiveConversation } from "./live-conversation.ts";
import { openingFor } from "./opening.ts";

/** Gives a conversation other tools from the next turn on. Throws `tools_conflict`, and `option_invalid` where its model cannot take other tools. */
export async function changeTools(live: LiveConversation, tools: ToolSet): Promise<void> {
  const { scope, request, model, instructions } = live;
  const gate = scope.gate.beside(tools);
  const { language, tenant, limits } = scope;
  const opening = openingFor(model, gate.search, { ...request, instructions, language, tenant, limits }, "setTools");
  const conversation = await live.conversation();
  if (!conversation.restore && live.turns.length > 0 && !conversation.declare)
    throw optionError("setTools(tools)", "a model whose conversations have `restore` or `declare`", model.name);
  const isReopened = conversation.restore !== undefined || live.turns.length === 0;
  // Before it is journalled: what the model does not take is refused here.
  const changed = isReopened ? await live.openedWith(opening) : conversation;
  if (!isReopened) conversation.declare?.(opening);
  const digests = tools.all.map((tool) => ({ name: tool.name, digest: toolDigest(tool) }));
  await live.log.append({ type: "tools", tools: digests, shown: shownTo(opening), at: Date.now() });
  live.scope = scope.with({ gate });
  live.takeOpened(opening, changed);
}
