import { now } from "../../base/index.ts";
import { areRecorded, recordedTool } from "../../gate/header-base.ts";
import type { ToolSet } from "../../tools/tool-set.ts";
import { shownTo } from "../agent.ts";
import type { AgentRequest } from "../agent-report.ts";
import { openingFor } from "../prompt/opening.ts";
import type { LiveConversation } from "./live-conversation.ts";

/** Instructions and tools that the client of a surface gives with a request hold from here on. What it leaves out stays. */
export async function changeOpening(live: LiveConversation, { instructionsFor }: AgentRequest): Promise<void> {
  const { state, model, scope } = live;
  const instructions = instructionsFor?.(model.name);
  if (instructions !== undefined && instructions !== state.answering.instructions)
    await live.changeModel(model, instructions);
  const { hostTools: tools } = scope;
  if (tools && tools.all.length > 0 && !areRecorded(tools.all, state.tools)) await changeTools(live, tools);
}

/** As `Conversation.setTools`. Throws `tools_conflict`, and `option_invalid` if the model cannot take other tools. */
export async function changeTools(live: LiveConversation, tools: ToolSet): Promise<void> {
  const { scope, request, model, state } = live;
  const {
    answering: { instructions },
  } = state;
  const gate = scope.gate.beside(tools);
  const opening = openingFor(model, { ...scope, gate }, { ...request, instructions }, "setTools");
  // Before it is journalled: what the model does not take is refused here.
  const changed = await live.openedWith(opening);
  const digests = tools.all.map(recordedTool);
  await live.log.append({ type: "tools", tools: digests, shown: shownTo(opening), at: now() });
  live.scope = { ...scope, gate };
  // A decision that only the journal tells of may be about another tool of the same name and interface.
  const { use } = live;
  live.use = use && { ...use, remembered: use.remembered?.filter(({ handler }) => handler !== undefined) ?? [] };
  live.takeOpened(opening, changed);
}
