import { optionError, PortcullisError } from "../errors.ts";
import type { Model } from "../models/model.ts";
import { RUN_PROGRAM } from "../programs/execution-state.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { ProgramsOption } from "./transcript.ts";

/**
 * Throws `option_invalid` where the model does not host programs, and `tools_conflict`. `subject` is the function that was
 * called, for the error.
 */
export function checkOpening(model: Model, tools: ToolSet, programs: ProgramsOption, subject: string): void {
  if (programs === "hosted" && !model.hostsPrograms)
    throw optionError(
      `${subject}({ programs })`,
      `"local" or "none", because ${model.name} does not host programs that call tools`,
      programs,
    );
  if (programs === "local" && tools.get(RUN_PROGRAM))
    throw new PortcullisError(
      "tools_conflict",
      `A tool is called "${RUN_PROGRAM}", a name that is reserved for running programs: rename it, or choose programs: "none".`,
    );
}
