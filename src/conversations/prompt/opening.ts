import type { Model, Opening, ToolDeclaration } from "../../models/model.ts";
import type { AgentRequest } from "../agent-report.ts";
import type { AgentScope } from "../agent-scope.ts";
import type { Tool } from "../../tools/tool.ts";
import { inputSchemaOf, outputSchemaOf } from "../../tools/tool-schemas.ts";
import type { ToolSearch } from "../../tools/search/tool-search.ts";
import { isVisible } from "../../tools/tool-set.ts";
import { settingsFor } from "../conversation-settings.ts";
import { without } from "../../base/index.ts";
import { callBoundaries, instructionsFor } from "./instructions.ts";
import { compactAtOf } from "./compact.ts";
import { checkOpening } from "./programs-option.ts";
import { declarePrograms, SEARCH_DIRECT } from "../calls/run-program.ts";
import type { ProgramsOption } from "../prompt/programs-option.ts";

/** The opening of a conversation in this scope, of which its model is told the limits, among others. Throws as `checkOpening` does. */
export function openingFor(
  model: Model,
  {
    gate: { search },
    language,
    tenant,
    limits,
    observed,
  }: Pick<AgentScope, "language" | "tenant" | "limits" | "observed"> & {
    readonly gate: { readonly search: ToolSearch };
  },
  request: Pick<AgentRequest, "programs" | "instructions" | "settings" | "compact" | "contextTokens">,
  subject = "agent",
): Opening {
  const { programs, instructions, settings } = request;
  const { tools } = search;
  checkOpening(model, tools, programs, subject);
  const compactAt = compactAtOf(model, request, subject);
  const asked = settingsFor(settings, model.name);
  // With hosted programs all tools are declared, each with its callers.
  const visibleTools = tools.visibleTo(programs === "hosted" ? ["direct", "programmatic"] : ["direct"]);
  const situation = { tenant, limits, shares: true, shown: observed?.shown };
  const local = programs === "local" ? declarePrograms(search, language, situation) : undefined;
  const all = visibleTools.map((tool) => ({ tool, declared: declare(tool, programs) }));
  // The provider of a hosted program reads the definitions of all tools.
  const isMany = programs !== "hosted" && isLarge(all.map(({ declared }) => declared));
  const isDeferred = ({ defer, pinned }: Tool) => programs !== "hosted" && (defer ?? (isMany && pinned !== true));
  const deferred = all.filter(({ tool }) => isDeferred(tool)).map(({ declared }) => declared);
  const shown = all.filter(({ tool }) => !isDeferred(tool)).map(({ declared }) => declared);
  const searched = local?.search ?? (deferred.length > 0 ? SEARCH_DIRECT : undefined);
  return {
    instructions: instructionsFor(programs, {
      boundaries: local ? "" : callBoundaries(limits, visibleTools),
      own: instructions,
    }),
    settings: asked,
    compactAt,
    tools: [shown, searched ?? []].flat(),
    deferred: deferred.length > 0 ? deferred : undefined,
    runProgram: local?.runProgram,
    hosted: programs === "hosted" && visibleTools.some((tool) => isVisible(tool, ["programmatic"])),
  };
}

/** JSON of direct tools that a model is told of at once, in UTF-16 code units: some 10,000 tokens. */
const DIRECT_LENGTH = 40_000;

function isLarge(declared: readonly ToolDeclaration[]): boolean {
  let length = 0;
  for (const { name, description, inputSchema: input } of declared) {
    length += name.length + description.length + JSON.stringify(input).length;
    if (length > DIRECT_LENGTH) return true;
  }
  return false;
}

function declare(tool: Tool, programs: ProgramsOption): ToolDeclaration {
  const output = outputSchemaOf(tool);
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: without(inputSchemaOf(tool), "$schema"),
    textFormat: tool.textFormat,
    outputSchema: output && without(output, "$schema"),
    callers: programs === "hosted" ? tool.allowedCallers : ["direct"],
  };
}
