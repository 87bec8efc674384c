import {
  pick,
  abortSignal,
  array,
  callbackRule,
  callback,
  type ExecutionId,
  flag,
  isFields,
  listener,
  object,
  oneOf,
  option,
  optionsIn,
  type OptionRules,
  type OptionsOf,
  readOptions,
  required,
  type CheckedOptions,
  wholeNumber,
  withDefault,
  words,
} from "../base/index.ts";
import type { Model } from "../models/model.ts";
import { isModelName, MODEL_NAMES, type ModelName, modelOf } from "../models/model-name.ts";
import { APPROVE, CONTEXT, EXECUTION, LANGUAGE, TENANT, type WithContext } from "../executions/execute-options.ts";
import { RESULT, resultSchemaOf } from "../executions/drive/ending/result-schema.ts";
import { LIMITS_OPTION } from "../executions/limits.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolSet } from "../tools/tool-set.ts";
import type { AgentEvent } from "./event.ts";
import type { Schema } from "../tools/schema.ts";
import type { AgentRequest, StopWhen } from "./agent-report.ts";
import { answerInstructions } from "./prompt/answer-schema.ts";
import { type Compact, compactAtOf } from "./prompt/compact.ts";
import { type ContextDocument, type Instructions, ownInstructions } from "./prompt/instructions.ts";
import {
  chosenSettings,
  CONVERSATION_SETTINGS,
  KEPT_LOOP_RULES,
  keptRules,
  refuseUnmatched,
} from "./conversation-settings.ts";
import { checkOpening, PROGRAMS_OPTIONS, programsFor, ROLES } from "./prompt/programs-option.ts";
import type { Transcript } from "./from-journal/conversation-state.ts";
import { RESUME_RULES } from "../executions/resume-options.ts";

export const MODEL = required(
  option<Model | ModelName>(
    `a model, like anthropic({ model: … }), or its name: ${MODEL_NAMES}`,
    (value) => isModel(value) || isModelName(value),
  ),
);
/** Turns of a model in one conversation. */
export const MAX_TURNS = wholeNumber({ min: 1, max: 10_000, default: 20 });
export const MAX_TOKENS = wholeNumber({ min: 1, default: 1_000_000 });

/** What the developer says to the model before it begins. */
const INSTRUCTION_RULES = {
  /** The developer's own instructions: text for every model, or by the beginning of a model's name, like `{ default: "…", anthropic: "…" }`. */
  instructions: option<Instructions>(
    'text, or texts by the beginning of a model\'s name, like { default: "…", anthropic: "…" }',
    isInstructions,
  ),
  /** Documents that the model has before it begins, like an AGENTS.md: `[{ name, text }]`. */
  documents: option<readonly ContextDocument[]>("an array of { name, text }", isDocuments),
};

/** What is decided while a conversation runs, also if it is taken up again. */
export const RUN_RULES = {
  /** Asked after the calls of each turn; true ends the conversation as `stopped`. If it fails, that rejects with `callback_failed`. */
  stopWhen: callback<StopWhen>(),
  /**
   * Makes the history shorter if the context is nearly full: gets the turns and returns the turns to keep, in order,
   * with other results or messages if wanted. By default old results are dropped, with a handle in their place.
   * `"provider"`: the provider itself makes it shorter (Anthropic, OpenAI's Responses); refused for models of others.
   */
  compact: callbackRule(
    option<Compact | "provider">(
      'a function, or "provider"',
      (value) => typeof value === "function" || value === "provider",
    ),
  ),
};

/** How the turns of a conversation go on and end. */
export const LOOP_RULES = {
  /** Maximum of turns; 20 by default. */
  maxTurns: MAX_TURNS,
  /**
   * Maximum of input and output tokens, all turns together; a million by default. A turn that has started is finished,
   * also a turn of each agent that is working for the conversation; then no further turn starts.
   */
  maxTokens: MAX_TOKENS,
  ...RUN_RULES,
  ...KEPT_LOOP_RULES,
};

export const CONVERSATION_RULES = {
  /**
   * Id of the conversation, chosen by the caller. The same id again gives the same conversation: it joins the running
   * one, takes it up if its host died, or gives its report, and never begins a second one.
   */
  id: EXECUTION,
  /** The tools of the conversation: tools, or names of the runtime's, like `"crm.find"` or `"crm.*"`. All of the runtime's by default. */
  tools: array<Tool | string>("an array of tools made by defineTool, or of names of the runtime's tools"),
  ...INSTRUCTION_RULES,
  /** What is asked of the models: `{ temperature, reasoning, toolChoice, … }`. */
  settings: object<OptionsOf<typeof CONVERSATION_SETTINGS>>(),
  /** Schema of the answer, like `z.object({ … })`: the model answers in JSON, and `report.answer` is the value. */
  answer: RESULT,
  /** Models that take over if the previous one fails for good, in this order. */
  fallbacks: option<readonly (Model | ModelName)[]>(
    "an array of models, or of their names",
    (value) => Array.isArray(value) && value.every(MODEL.accepts),
  ),
  /** How its turns go on and end: `{ maxTurns, maxTokens, stopWhen, … }`. */
  loop: object<OptionsOf<typeof LOOP_RULES>>(),
  /** Where programs run: `local` by default if a tool allows programs as callers, else `none`. */
  programs: oneOf(PROGRAMS_OPTIONS),
  /** Language of local programs; JavaScript by default. */
  language: withDefault(LANGUAGE, "javascript"),
  /** Changes to the limits of the runtime. */
  limits: LIMITS_OPTION,
  /** Decides about calls that need approval, in place of the runtime's `approve`. */
  approve: APPROVE,
  /** Holds the source of each program for a decision of `approve` before it starts; as the runtime does by default. */
  approvePrograms: flag(),
  /** Called with each event as it happens. Errors that it throws are ignored. */
  onEvent: listener<(event: AgentEvent) => void>(),
  /** The tenant; the runtime's by default. */
  tenant: TENANT,
  /** The host's own value, like the user of a request. Handlers and `approve` get it; a program and a model do not. */
  context: CONTEXT,
  /** Cancels it. */
  signal: abortSignal(),
};

export const AGENT_RULES = {
  /** The model that answers. */
  model: MODEL,
  /** What the model is asked to do. */
  task: required(words()),
  ...CONVERSATION_RULES,
};

export const HELD_RULES = {
  /** The model that answers. */
  model: MODEL,
  ...CONVERSATION_RULES,
  /**
   * Id of the conversation, chosen by the caller. A conversation with this id that has not ended is taken over, and keeps
   * what it began with.
   */
  id: EXECUTION,
  /** Begins with the turns of this conversation: the id of one that has ended, which stays as it is, or a transcript. */
  from: option<ExecutionId | Transcript>("the id of a conversation, or a transcript", (value) =>
    typeof value === "string" ? value !== "" : isFields(value),
  ),
  /** Take an open conversation up although tools have changed or are gone. */
  allowChangedTools: withDefault(flag(), false),
};

const { id: _execution, tenant: _tenant, ...OF_SENDING } = CONVERSATION_RULES;

export const SEND_RULES = {
  /** The model that answers. */
  model: MODEL,
  ...OF_SENDING,
  /**
   * Number of the user's messages that the conversation has before this one, 0 for the first. The same message with the
   * same number is never said twice; with another number nothing is said.
   */
  expect: wholeNumber({ min: 0 }),
  /** Called once the journal has the message. From then on the conversation is taken up if its host dies. */
  onSaid: listener<() => void>(),
  /** Take an open conversation up although tools have changed or are gone. */
  allowChangedTools: withDefault(flag(), false),
};

const { result: _result, ...OF_RESUMING } = RESUME_RULES;

export const RESUME_AGENT_RULES = {
  ...OF_RESUMING,
  /** The model that the conversation began with. */
  model: MODEL,
  /** Schema of the answer, with which the conversation began; by default the journal's, which changes no value. */
  answer: RESULT,
  /** How its turns go on: `{ stopWhen, compact }`. The rest is as it began. */
  loop: object<OptionsOf<typeof RUN_RULES>>(),
  ...pick(CONVERSATION_RULES, "fallbacks", "onEvent"),
};

const { hostedTools: _hostedTools, ...SET_SETTINGS } = CONVERSATION_SETTINGS;
const SET_LOOP = pick(LOOP_RULES, "maxTurns", "maxTokens", "reuseResults", "contextTokens");

/** What a command line sets of a conversation, without the groups. */
export const SET_RULES = { ...pick(CONVERSATION_RULES, "programs"), ...SET_SETTINGS, ...SET_LOOP };

/** What was set, in the groups that a conversation takes. */
export function groupedOptions(set: OptionsOf<typeof SET_RULES>) {
  const of = (rules: object) => Object.fromEntries(Object.entries(set).filter(([name]) => Object.hasOwn(rules, name)));
  return { ...of(pick(CONVERSATION_RULES, "programs")), settings: of(SET_SETTINGS), loop: of(SET_LOOP) };
}

interface GivenModels {
  readonly model: Model | ModelName;
  readonly fallbacks?: readonly (Model | ModelName)[];
}

/** Options that were read, with a model in place of each name. Throws `model_unavailable` if there is no key. */
export function withModels<Read extends GivenModels>(
  read: Read,
): Omit<Read, keyof GivenModels> & { readonly model: Model; readonly fallbacks?: readonly Model[] } {
  const { model, fallbacks, ...rest } = read;
  return {
    ...rest,
    model: modelOf(model),
    fallbacks: fallbacks?.map(modelOf),
  };
}

export type WithModels<Read extends GivenModels> = ReturnType<typeof withModels<Read>>;

type Grouped = Pick<typeof CONVERSATION_RULES, "settings" | "loop" | "fallbacks"> & { readonly model: typeof MODEL };

/** Options of a conversation as they are read: those in its groups stand beside the others. */
export type ResolvedAgentOptions<Rules extends Grouped> = WithModels<
  Omit<CheckedOptions<Rules>, "settings" | "loop"> & GivenModels
> &
  CheckedOptions<typeof CONVERSATION_SETTINGS & typeof LOOP_RULES>;

/** Reads options of a conversation, with models in place of their names. `subject` is the function that was called, for errors. */
export function openedOptions<Rules extends Grouped>(
  subject: string,
  options: unknown,
  rules: Rules,
): ResolvedAgentOptions<Rules> {
  const { settings, loop, ...read } = readOptions(subject, options, rules as Grouped);
  return { ...withModels(read), ...readGroups(subject, { settings, loop }, LOOP_RULES) } as ResolvedAgentOptions<Rules>;
}

/** The options in the groups of a conversation. `rules` are those of its loop. */
export function readGroups<Rules extends OptionRules>(
  subject: string,
  { settings = {}, loop = {} }: { readonly settings?: object; readonly loop?: object },
  rules: Rules,
): CheckedOptions<typeof CONVERSATION_SETTINGS & Rules> {
  return {
    ...readOptions(optionsIn(subject, "settings"), settings, CONVERSATION_SETTINGS),
    ...readOptions(optionsIn(subject, "loop"), loop, rules),
  } as CheckedOptions<typeof CONVERSATION_SETTINGS & Rules>;
}

/** As `openedOptions`, of a conversation that is taken up. */
export function resumedOptions(subject: string, options: unknown) {
  const { loop = {}, ...read } = readOptions(subject, options, RESUME_AGENT_RULES);
  return { ...withModels(read), ...readOptions(optionsIn(subject, "loop"), loop, RUN_RULES) };
}

type OptionsWith<Rules, Context, Answer> = Omit<WithContext<OptionsOf<Rules>, Context>, "tools" | "answer"> & {
  /** Schema of the answer, like `z.object({ … })`: the model answers in JSON, and `report.answer` is the value. */
  readonly answer?: Schema<unknown, Answer>;
  /** The tools of the conversation: tools, or names of the runtime's, like `"crm.find"` or `"crm.*"`. All of the runtime's by default. */
  readonly tools?: readonly (Tool<Context> | string)[];
};

export type AgentOptions<Context = unknown, Answer = string> = OptionsWith<typeof AGENT_RULES, Context, Answer>;
export type ConversationOptions<Context = unknown, Answer = string> = OptionsWith<typeof HELD_RULES, Context, Answer>;

export type SendOptions<Context = unknown, Answer = string> = OptionsWith<typeof SEND_RULES, Context, Answer>;

export type ResumeAgentOptions<Context = unknown, Answer = string> = Omit<
  WithContext<OptionsOf<typeof RESUME_AGENT_RULES>, Context>,
  "answer"
> & {
  /** Schema of the answer, with which the conversation began; by default the journal's, which changes no value. */
  readonly answer?: Schema<unknown, Answer>;
};

/** Options that an open conversation has from its beginning, as it has its settings and all of its loop but `RUN_RULES`. */
export const KEPT_OPTIONS = ["instructions", "documents", "programs", "language", "limits", "answer"];

type RequestOptions = OptionsOf<
  typeof INSTRUCTION_RULES & typeof CONVERSATION_SETTINGS & typeof RUN_RULES & typeof KEPT_LOOP_RULES
> &
  Pick<
    CheckedOptions<typeof CONVERSATION_RULES & typeof LOOP_RULES>,
    "programs" | "answer" | "maxTurns" | "maxTokens"
  > &
  GivenModels;

/** The conversation to hold, of options that were read. `subject` is the function that was called, for errors. */
export function requestOf(options: WithModels<RequestOptions>, tools: ToolSet, subject: string): AgentRequest {
  const { model, fallbacks = [] } = options;
  const programs = programsFor(options.programs, tools);
  const answer = resultSchemaOf(options.answer, `${subject}({ answer })`);
  const ofAnswer = answer ? answerInstructions(answer) : undefined;
  const instructionsFor = (name: string) =>
    ownInstructions({ ...options, answer: ofAnswer }, name, tools.visibleTo(ROLES[programs].visibleTo));
  const settings = chosenSettings(options, answer?.json);
  refuseUnmatched(
    settings,
    [model, ...fallbacks].map(({ name }) => name),
    subject,
  );
  for (const other of fallbacks) {
    checkOpening(other, tools, programs, subject);
    compactAtOf(other, options, subject);
    instructionsFor(other.name);
  }
  return {
    ...pick(options, "model", "maxTurns", "maxTokens", "fallbacks", "stopWhen", "compact"),
    programs,
    instructions: instructionsFor(model.name),
    settings,
    instructionsFor,
    answer,
    ...keptRules(options),
  };
}

function isInstructions(value: unknown): boolean {
  if (typeof value === "string") return value.trim() !== "";
  return isFields(value) && Object.values(value).every((one) => typeof one === "string" && one.trim() !== "");
}

function isDocuments(value: unknown): boolean {
  const isDocument = (one: unknown) =>
    isFields(one) && typeof one.name === "string" && one.name !== "" && typeof one.text === "string";
  return Array.isArray(value) && value.every(isDocument);
}

export function isModel(value: unknown): value is Model {
  return isFields(value) && typeof value.name === "string" && typeof value.converse === "function";
}
