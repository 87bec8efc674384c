import { PortcullisError } from "../base/index.ts";
import { hostedRefusal, type SearchBounds } from "./hosted-tools.ts";
import type { ModelSettings, Opening, ToolChoice } from "./model.ts";
import { SETTINGS_RULES } from "./setting-rules.ts";
import { RUN_PROGRAM } from "../tools/tool-name.ts";

export interface ProviderSettings {
  /** The smallest limit of output tokens that it accepts. */
  readonly minOutputTokens: number;
  readonly stops: number;
  readonly maxTemperature: number;
  /** Whether a turn can be limited to one call. */
  readonly oneCall: boolean;
  readonly summaries: boolean;
  /** Whether a call can be forced, and a temperature set, while the model is asked to reason. */
  readonly whileReasoning: boolean;
  readonly forcesHosted: boolean;
  /** What its own search of the web can be told; missing if it has none. */
  readonly searches?: SearchBounds;
}

/** An option that the provider or a hosted program does not take, and why; undefined if there is none. */
function refusalOf(
  settings: ModelSettings,
  takes: ProviderSettings,
  hosted: boolean,
): readonly [option: string, why: string] | undefined {
  const { parallelCalls = true, reasoning, temperature, maxOutputTokens, stop = [], hostedTools = [] } = settings;
  const unhosted = hostedRefusal(hostedTools, takes.searches);
  if (unhosted !== undefined) return ["hostedTools", unhosted];
  if (!parallelCalls && !takes.oneCall) return ["parallelCalls", "it has no switch for calls at once"];
  if (!parallelCalls && hosted) return ["parallelCalls", "a hosted program makes several calls at once"];
  if (reasoning?.summary === true && !takes.summaries) return ["reasoning", "it gives no summaries of its reasoning"];
  if (temperature !== undefined && temperature > takes.maxTemperature)
    return ["temperature", `it takes 0 to ${takes.maxTemperature}`];
  if (temperature !== undefined && isReasoned(settings) && !takes.whileReasoning)
    return ["temperature", "it takes none together with reasoning"];
  if (maxOutputTokens !== undefined && maxOutputTokens < takes.minOutputTokens)
    return ["maxOutputTokens", `it takes ${takes.minOutputTokens} or more`];
  if (stop.length <= takes.stops) return undefined;
  return ["stop", takes.stops === 0 ? "it takes no texts at which it stops" : `it takes ${takes.stops} texts at most`];
}

export interface SettingsPlace {
  readonly model: string;
  readonly takes: ProviderSettings;
}

/** Throws `option_invalid` for a setting that is malformed, or that the provider or its hosted programs do not take. */
export function checkSettings({ model, takes }: SettingsPlace, opening: Opening): void {
  const { settings = {}, hosted } = opening;
  for (const [name, { accepts, expected }] of Object.entries(SETTINGS_RULES)) {
    const value = (settings as Readonly<Record<string, unknown>>)[name];
    if (value !== undefined && !accepts(value)) throw refused(model, name, `it must be ${expected}`);
  }
  const refusal = refusalOf(settings, takes, hosted);
  if (refusal) throw refused(model, ...refusal);
  if (settings.toolChoice !== undefined) checkToolChoice({ model, takes }, opening, settings.toolChoice);
}

/** Throws `option_invalid` for a choice that cannot be met. */
export function checkToolChoice(
  { model, takes }: SettingsPlace,
  { tools, runProgram, hosted, settings = {} }: Opening,
  choice: ToolChoice,
): void {
  if (choice === "auto" || choice === "none") return;
  if (!takes.whileReasoning && isReasoned(settings))
    throw refused(model, "toolChoice", "it forces no call while it reasons: leave out toolChoice or reasoning");
  if (choice === "required") {
    if (tools.length > 0 || runProgram || hosted) return;
    throw refused(model, "toolChoice", "the conversation has no tool that could be called");
  }
  if (choice.tool === runProgram?.name) return;
  if (hosted && choice.tool === RUN_PROGRAM) {
    if (takes.forcesHosted) return;
    throw refused(model, "toolChoice", "it forces no hosted program");
  }
  const tool = tools.find(({ name }) => name === choice.tool);
  if (!tool) throw refused(model, "toolChoice", `the model knows no tool ${JSON.stringify(choice.tool.slice(0, 100))}`);
  if (!tool.callers.includes("direct"))
    throw refused(model, "toolChoice", `only programs may call ${JSON.stringify(choice.tool)}`);
}

export function isReasoned({ reasoning }: ModelSettings): boolean {
  return reasoning?.effort !== undefined || reasoning?.summary === true;
}

function refused(model: string, name: string, why: string): PortcullisError {
  return new PortcullisError("option_invalid", `${name}: ${model} does not take it, because ${why}.`);
}
