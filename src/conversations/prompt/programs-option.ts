import { optionError, PortcullisError } from "../../base/index.ts";
import type { SessionOptions } from "../../gate/session.ts";
import type { Model } from "../../models/model.ts";
import { RUN_PROGRAM } from "../../tools/tool-name.ts";
import type { ToolSet } from "../../tools/tool-set.ts";

/** Where programs run: in the local sandbox, at the provider, or nowhere. */
export type ProgramsOption = "local" | "hosted" | "none";
export const PROGRAMS_OPTIONS: readonly ProgramsOption[] = ["local", "hosted", "none"];

/** The callers that a conversation may act as, and those whose tools it knows, by where its programs run. */
export const ROLES: Readonly<Record<ProgramsOption, Required<Pick<SessionOptions, "callers" | "visibleTo">>>> = {
  none: { callers: ["direct"], visibleTo: ["direct"] },
  local: { callers: ["direct"], visibleTo: ["direct", "programmatic"] },
  hosted: { callers: ["direct", "programmatic"], visibleTo: ["direct", "programmatic"] },
};

/** The default is `local` if there is a tool that programs may call. */
export function programsFor(option: ProgramsOption | undefined, tools: ToolSet): ProgramsOption {
  return option ?? (tools.visibleTo(["programmatic"]).length > 0 ? "local" : "none");
}

/** What a header says of it. Throws `journal_invalid`. */
export function programsOf(text: string): ProgramsOption {
  const programs = PROGRAMS_OPTIONS.find((option) => option === text);
  if (programs) return programs;
  throw new PortcullisError("journal_invalid", `The journal says that programs run at ${JSON.stringify(text)}.`);
}

/** Throws `option_invalid` if the model hosts no programs, and `tools_conflict`. Errors name `subject`, a function. */
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
