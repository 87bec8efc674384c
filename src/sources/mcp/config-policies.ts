import { checkOptions, flag, oneOf, type OptionPlace, type OptionsOf, wholeNumber } from "../../options/options.ts";
import { TIMEOUT_MS } from "../../tools/define-tool.ts";
import { FILE_RULES, FilePolicies } from "../policy.ts";
import { PROTOCOLS } from "./mcp-options.ts";

/** What a configuration file may say of a server that is no policy. */
const SETTINGS_RULES = {
  pin: flag(),
  protocol: oneOf(PROTOCOLS),
  connectTimeoutMs: wholeNumber(TIMEOUT_MS),
};

/** What a configuration file may say of a server, under `portcullis`. Its tools stand there by the server's own names. */
export const FILE_SERVER_RULES = { ...FILE_RULES, ...SETTINGS_RULES };

export interface ServerPolicies {
  readonly settings: OptionsOf<typeof SETTINGS_RULES>;
  readonly policies: FilePolicies;
}

/** Throws `option_invalid`; `place` names the `portcullis` key in an error. */
export function readServerPolicies(place: OptionPlace, given: unknown = {}): ServerPolicies {
  const said = checkOptions(place, given, FILE_SERVER_RULES);
  const entries = Object.entries(said);
  const isSetting = (name: string) => Object.hasOwn(SETTINGS_RULES, name);
  return {
    settings: Object.fromEntries(entries.filter(([name]) => isSetting(name))),
    policies: new FilePolicies(
      { place, source: "the server", namesOf: (tool) => [tool], needsEffect: true },
      Object.fromEntries(entries.filter(([name]) => !isSetting(name))),
    ),
  };
}
