import { PortcullisError } from "../errors.ts";
import { typeText } from "../tools/type-text.ts";
import type { Fields } from "./fields.ts";
import type { Opening, ToolDeclaration } from "./model.ts";
import { PROGRAM_SCHEMA } from "./program-input.ts";
import { hasCycle } from "./schema-cycle.ts";
import { ToolNames } from "./tool-names.ts";

/** The provider's tool for programs, and the word by which a tool lets it call. */
export const CODE_EXECUTION = "code_execution_20260120";

/** The names of a conversation's tools, each beside ours for programs or the provider's. */
export function namesOf({ tools, runProgram, hosted }: Opening): ToolNames {
  const taken = [...(runProgram ? [runProgram.name] : []), ...(hosted ? ["code_execution"] : [])];
  return new ToolNames(
    tools.map(({ name }) => name),
    taken,
  );
}

/** The part of every request that is the same. Throws `option_invalid` for what the provider is known to refuse. */
export function toolsFor({ tools, runProgram, hosted }: Opening, names: ToolNames): readonly Fields[] {
  return [
    ...(hosted ? [{ type: CODE_EXECUTION, name: "code_execution" }] : []),
    ...(runProgram ? [{ ...runProgram, input_schema: PROGRAM_SCHEMA }] : []),
    ...tools.map((tool) => declare(tool, names, hosted)),
  ];
}

function declare(tool: ToolDeclaration, names: ToolNames, hosted: boolean): Fields {
  const forPrograms = hosted && tool.callers.includes("programmatic");
  if (forPrograms && hasCycle(tool.input))
    throw new PortcullisError(
      "option_invalid",
      `Tool "${tool.name}": its input refers to itself, and Anthropic takes no such schema for tools that its programs call. Let only the model call it (allowedCallers: ["direct"]), or run programs here (programs: "local").`,
    );
  return {
    name: names.given(tool.name),
    description: forPrograms ? `${tool.description}\n\n${resultText(tool)}` : tool.description,
    input_schema: tool.input,
    // Never with `strict`, which the provider refuses beside programs.
    ...(hosted
      ? { allowed_callers: tool.callers.map((caller) => (caller === "direct" ? "direct" : CODE_EXECUTION)) }
      : {}),
  };
}

/** Programs have to know what they get; the provider has no field for it. */
function resultText({ output }: ToolDeclaration): string {
  const type = output === undefined ? "" : `: ${typeText(output, { descriptionLength: 60, depth: 6 })}`;
  return `In a program it returns JSON text, to be read with json.loads${type}. Where it fails it returns text that begins with "Error: ".`;
}
