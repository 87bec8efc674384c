import type { ProgramDeclaration } from "../models/model.ts";
import { RUN_PROGRAM } from "../programs/execution-state.ts";
import { declareTools, type ProgramLanguage } from "../tools/declarations.ts";
import type { ToolSet } from "../tools/tool-set.ts";

export { RUN_PROGRAM };

/** The answer to a call of `run_program` without a source. */
export const NO_SOURCE = `${RUN_PROGRAM} takes the program's source as text, and got none.`;

const RULES: Readonly<Record<ProgramLanguage, string>> = {
  javascript: `Runs a program in JavaScript and gives back what it returns and prints. The program is the body of an async function: use await, and end with return.

Use it where an answer takes more than a few calls, or large results: loop, filter, join and count in the program, call independent things at once with Promise.all, and return only what the answer needs. Each run begins afresh. There is no network, no files, no modules; everything outside is reached through tools:`,
  python: `Runs a program in Python and gives back what it returns and prints. The program is a module with await at its top level; its last expression is what it returns.

Use it where an answer takes more than a few calls, or large results: loop, filter, join and count in the program, call independent things at once with asyncio.gather, and end with only what the answer needs. Each run begins afresh. There is no network and no package but the standard library; everything outside is reached through tools:`,
};

/** The tool that runs a program. Its description has the typed stubs of the tools that programs may call. */
export function declareRunProgram(tools: ToolSet, language: ProgramLanguage): ProgramDeclaration {
  const stubs = declareTools(tools.visibleTo(["programmatic"]), { language });
  return { name: RUN_PROGRAM, description: `${RULES[language]}\n\n${stubs === "" ? "(there are none)" : stubs}` };
}
