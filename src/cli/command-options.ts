import { type CommandOptions, defaulting, mandatory, reading, repeatable } from "./option.ts";
import {
  APPROVE_MODES,
  callResult,
  parseJson,
  whole,
  oneWord,
  readWebhookFile,
  readFileContent,
  readSchema,
  readText,
  durationOption,
  settings,
} from "./input/option-values.ts";
import type { Language } from "../../bridge/frames.ts";
import { SET_RULES } from "../conversations/agent-options.ts";
import { WORK_RULES } from "../runtime/fleet.ts";
import { POLICY_NAMES } from "../gate/approve/policy.ts";
import { PROVIDERS } from "../models/provider/providers.ts";
import { pick, wholeNumber } from "../base/index.ts";
import { HOLD } from "../executions/decide.ts";
import { LIMIT_RULES } from "../executions/limits.ts";
import { LEASE_MS, PLACES_RULES } from "../runtime/create-runtime.ts";
import { LISTEN_RULES, SERVER_RULES } from "../serve/server-options.ts";

/*
 * The options of the commands, in the order of the help. What a command is given, with its types, follows from its table.
 */

const APPROVE_TEXT = `how calls that need approval are decided: ${APPROVE_MODES.join(", ")}`;
const LANGUAGES = ["javascript", "python"] as const satisfies readonly Language[];

const SET =
  'an option (repeatable; numbers, of names in Ms also 30s or 5min, words, or JSON, like reasoning={"effort":"low"})';
// Options that several commands have.
const LIMIT = {
  "--limit <name=value>": settings(
    "change a limit (repeatable); values may end in KiB, MiB, ms, s, min, h, d; calls counts calls of tools, and each program of a conversation as one more",
    LIMIT_RULES,
  ),
};
const APPROVE = { "--approve <how>": defaulting(APPROVE_TEXT, "ask", oneWord(APPROVE_MODES)) };
const POLICY = {
  "--policy <name>": reading(
    "which calls need approval besides those that tools ask for: ask-writes, ask-changes or ask-all",
    oneWord(POLICY_NAMES),
  ),
};
const APPROVE_PROGRAM = {
  "--approve-program": "hold each program itself for a decision before it starts, as --approve says",
};
const ARTIFACTS = { "--artifacts <folder>": "write what programs have kept to files of this folder" };
const TOOLS = {
  "--tools <module>": "module whose default export is an array of tools",
  "--mcp <file>": repeatable("configuration file of MCP servers, like .mcp.json (repeatable)"),
  "--openapi <file>": repeatable("JSON file that describes an API: name, spec, baseUrl, auth (repeatable)"),
  "--allow <tools=effect>": repeatable(
    "programs may call these tools of sources: files.*=read, files.write_file=write, which needs approval (repeatable)",
  ),
};
const SANDBOX = {
  "--sandbox <name>": defaulting("sandbox for programs: isolate or docker", "isolate", oneWord(["isolate", "docker"])),
};
const BASE_URL = { "--base-url <url>": "a server that speaks the protocol of the model's provider" };
const FALLBACK = {
  "--fallback <provider:name>": repeatable("a model that takes over if the previous one fails for good (repeatable)"),
};
const NO_STREAM = { "--no-stream": "request each turn as one reply, not as a stream" };
const TENANT = { "--tenant <name>": "tenant of the execution (default: default)" };
const EXECUTION = {
  "--id <id>": "id of the execution: the same id again gives the same execution; needs a journal",
};
const JOURNAL = {
  "--journal <file>":
    "file of the journal, or postgres:// URL of its database (default: the variable PORTCULLIS_JOURNAL)",
};
const REPORT_JSON = { "--json": "print the whole report as one JSON document" };
const JSON_LINE = { "--json": "print what was done, or found, as JSON" };

export const RUN = {
  ...TOOLS,
  ...SANDBOX,
  "--language <name>": reading(
    "language of the program: javascript, or python in docker (default: python for a .py file, else javascript)",
    oneWord(LANGUAGES),
  ),
  ...LIMIT,
  ...APPROVE,
  ...POLICY,
  ...APPROVE_PROGRAM,
  ...TENANT,
  ...EXECUTION,
  "--corrects <id>":
    "an ended execution of the journal that this program corrects: its equal calls are answered as before, and not made again",
  "--max-age <time>": reading(
    "with --corrects: age up to which results of calls that only read are given again; 5min by default",
    durationOption({ bare: "s", min: 0, max: 365 * 86_400_000, example: "a time like 30s or 5min" }),
  ),
  "--result <schema.json>": reading("file with the JSON Schema of what the program has to return", readSchema),
  ...JOURNAL,
  ...ARTIFACTS,
  ...REPORT_JSON,
};

const MODEL_TEXT = `the model: ${[...PROVIDERS.keys()].join(", ")}, a colon, its name; or a module whose default export is a model`;
/** How a conversation with a model begins. */
const CONVERSATION = {
  ...TOOLS,
  ...FALLBACK,
  ...SANDBOX,
  ...BASE_URL,
  "--set <name=value>": settings(`${SET}, as \`agent\` takes it`, SET_RULES),
  "--instructions <file>": reading("text of your own for the model, in addition to the text of the package", readText),
  "--context <file>": repeatable(
    "a document that the model has before it begins, like AGENTS.md (repeatable)",
    readFileContent,
  ),
  ...LIMIT,
  ...TENANT,
  ...JOURNAL,
  ...APPROVE,
  ...POLICY,
  ...APPROVE_PROGRAM,
  ...NO_STREAM,
  ...ARTIFACTS,
};
export const ASK = {
  "--model <provider:name>": `${MODEL_TEXT} (default with --agent: the model that its file names)`,
  "--agent <file>":
    "Markdown file of an agent: its text as instructions, and those of the tools, and the model, that its fields name",
  ...CONVERSATION,
  "--answer <file>": reading("JSON Schema that the answer has to fit", readSchema),
  ...EXECUTION,
  "--json": "print ending, answer, turns, calls and usage as one JSON document",
};

export const CHAT = {
  "--model <provider:name>": `${MODEL_TEXT} (default with --id: the model that it has)`,
  "--id <id>": "continue this conversation of the journal",
  "--allow-changed-tools": "with --id, continue although tools are gone or changed",
  ...CONVERSATION,
};

export const LIST_TOOLS = {
  ...TOOLS,
  "--json": "print as JSON",
  "--stubs": "print the typed stubs instead",
  "--check": "list the tools of servers that no caller may call, with the line to add, and what was left out",
};

const LISTENING = {
  "--host <address>": "address to listen on; another than the loopback's needs --keys (default: 127.0.0.1)",
  "--keys <file>": "JSON file of the keys of clients (default: one token, printed at the start)",
  "--host-name <name>": repeatable("a further name under which clients may address it (repeatable)"),
};

/** Options of the commands that serve over HTTP. */
const SERVER = {
  ...LISTENING,
  "--log": "print a line of JSON for each request on standard error, without contents",
};

const DRAIN = {
  "--drain <time>": reading(
    "how long running executions may take to end when the server is stopped: 30, 30s, 2min; 30 s by default, of mcp 0",
    durationOption({ bare: "s", min: 0, max: 3_600_000, example: "a time like 30s or 2min" }),
  ),
};

export const MCP = {
  ...TOOLS,
  "--http <port>": reading(
    "serve over HTTP at /mcp on this port, 0 for any that is free; the options of a server go with it",
    whole(LISTEN_RULES.port),
  ),
  ...SERVER,
  ...DRAIN,
  "--set <name=value>": settings(`${SET} of the server; all but patienceMs go with --http`, {
    ...pick(SERVER_RULES, "patienceMs"),
    ...PLACES_RULES,
  }),
  ...SANDBOX,
  ...LIMIT,
  "--approve <how>": defaulting(
    `${APPROVE_TEXT}; ask: by the client's user, or later if the client cannot ask and there is a journal`,
    "ask",
    oneWord(APPROVE_MODES),
  ),
  ...POLICY,
  "--tenant <name>": "tenant of the programs, if no key names one",
  ...JOURNAL,
};

export const SERVE = {
  ...TOOLS,
  "--workers <where>": reading(
    "who drives programs, with a journal in PostgreSQL: here (this server and the workers of the fleet) or elsewhere (the workers alone); here by default",
    oneWord(["here", "elsewhere"]),
  ),
  "--port <number>": reading(
    `port to listen on, 0 for any that is free; ${LISTEN_RULES.port.default} by default`,
    whole(LISTEN_RULES.port),
  ),
  ...SERVER,
  "--model <provider:name>": repeatable(
    "a model that clients may converse with, or a module whose default export is one; the first is the default (repeatable)",
  ),
  "--set <name=value>": settings(`${SET} of the server`, {
    ...PLACES_RULES,
    ...pick(SERVER_RULES, "maxTurns", "maxTokens", "pauseMs", "storedMs", "patienceMs", "maxBodyBytes", "connections"),
  }),
  ...BASE_URL,
  ...SANDBOX,
  ...LIMIT,
  ...POLICY,
  ...JOURNAL,
  ...DRAIN,
  "--webhooks <file>": reading(
    "JSON file with a list of { url, secret, events, allowPrivate }: servers that receive an event when executions wait or have ended",
    readWebhookFile,
  ),
};

export const WORKER = {
  ...TOOLS,
  ...JOURNAL,
  "--set <name=value>": settings(`${SET} of the worker, as \`work\` takes it`, {
    ...pick(WORK_RULES, "concurrency", "perTenant", "reconcileMs"),
    leaseMs: LEASE_MS,
  }),
  "--metrics <port>": reading(
    "serve /metrics, /readyz and /healthz of this worker on this port, 0 for any that is free; --host, --keys and --host-name go with it",
    whole(LISTEN_RULES.port),
  ),
  ...LISTENING,
  "--model <provider:name>": repeatable(
    "a model with which conversations continue, or a module whose default export is one (repeatable)",
  ),
  ...BASE_URL,
  ...SANDBOX,
  ...POLICY,
  ...LIMIT,
  ...DRAIN,
};

export const KEY_ADD = {
  "--keys <file>": mandatory("the file of keys, as serve and mcp read it"),
  "--tenant <name>": defaulting("tenant of its executions", "default"),
  "--scope <name>": repeatable("what it may do: run, decide, read, converse or admin (repeatable; default: run, read)"),
  "--allow-tool <name>": repeatable("a tool that it may use, like crm.* (repeatable; default: all)"),
  "--expires <time>": "when it expires, like 2027-01-31T00:00:00Z",
  ...JSON_LINE,
};

export const BENCH = {
  "--task <file>": "your own task, as a JSON file (format: examples/README.md)",
  "--tools <module>": "tools of your own task: a module whose default export is an array of tools",
  ...SANDBOX,
  ...LIMIT,
  "--live": "measure with a real model, in both modes, several times: it costs money",
  "--model <provider:name>": "with --live, the model",
  ...BASE_URL,
  "--repeat <number>": reading(
    "with --live, trials of each task in each mode; 3 by default",
    whole(wholeNumber({ min: 1, max: 999 })),
  ),
  "--max-tokens <number>": reading(
    "with --live, tokens; once they are spent, no further turn begins",
    whole(wholeNumber({ min: 1 })),
  ),
  "--json": "print the report as JSON",
};

export const DEMO = SANDBOX;

export const SHOW = {
  "--tenant <name>": "tenant of the execution, if several have one of that id; or of the executions that are listed",
  ...JOURNAL,
  "--open": "list only executions without an outcome",
  "--follow": "print each line that comes or changes until it ends, with a line for each call",
  "--json": "print its records, or what is listed, one a line",
};

export const EXPORT = JOURNAL;
export const IMPORT = {
  "--skip-existing": "pass over executions whose ids the journal has already",
  ...JOURNAL,
  ...JSON_LINE,
};
export const PRUNE = {
  "--older-than <age>": mandatory(
    "age like 30d, 12h or 5min",
    durationOption({ min: 1, max: 36_500 * 86_400_000, example: "an age like 30d, 12h or 5min" }),
  ),
  "--open": "also executions without an outcome that no driver holds",
  ...JOURNAL,
  ...JSON_LINE,
};
export const CHECK = { ...JOURNAL, ...JSON_LINE };

export const DECIDE = {
  "--allow": "the call may run",
  "--deny": "the call may not run",
  "--done <json>": reading("the call was done, with this result: for a call whose outcome is unknown", parseJson),
  "--hold <number>": reading("which time the call waits for a decision, from the second on", whole(HOLD)),
  "--by <name>": "who decides, for the journal",
  "--note <text>": "why, for the journal; the program reads the note of a denial",
  "--remember": "decide later calls of the execution with the same tool and input alike",
  "--grant <json>": reading(
    'allow further calls of the tool in the execution, too: {"calls":20,"sums":{"/amount":500}}',
    parseJson,
  ),
  ...TENANT,
  ...JOURNAL,
  ...JSON_LINE,
};

/** Options of a command that the next one must have, too. The journal keeps the others. */
export const SAME = {
  ...TOOLS,
  "--model <provider:name>":
    "the model of a conversation, or a module that exports it by default (default: the one it began with)",
  ...BASE_URL,
  ...FALLBACK,
  ...NO_STREAM,
  ...SANDBOX,
  ...APPROVE,
  ...POLICY,
  ...ARTIFACTS,
  ...TENANT,
  ...JOURNAL,
};

export const RESUME = {
  ...SAME,
  "--result <call=json>": repeatable("result of a call that a client answers (repeatable)", callResult),
  "--result-schema <schema.json>": reading(
    "the JSON Schema of what the program has to return, if it began with one that the journal has not kept",
    readSchema,
  ),
  "--allow-changed-tools": "continue although tools are gone or changed",
  ...REPORT_JSON,
};

export const INIT = {
  "--mcp": "also write .mcp.json, by which an MCP client that opens the folder gets the tools",
};

export const DOCTOR = {
  "--journal <url>": "database of a journal to check; PORTCULLIS_JOURNAL by default",
  "--json": "print as JSON",
};

export const IMAGE = {
  "--network <name>": "network of the build: host, if the Docker daemon gives builds no network",
  "--base <image>": "Debian base image, by digest for a repeatable build (default: debian:bookworm-slim)",
};

export type { CommandOptions };
// What functions of several commands are given.
export type ToolsOptions = CommandOptions<typeof TOOLS>;
export type ServeFlags = CommandOptions<typeof SERVER & typeof JOURNAL>;
export type ServedOptions = CommandOptions<
  typeof TOOLS & typeof SANDBOX & typeof LIMIT & typeof POLICY & typeof JOURNAL
>;
export type RunningOptions = CommandOptions<typeof TOOLS & typeof SANDBOX & typeof APPROVE & typeof REPORT_JSON> &
  SameOptions &
  Partial<CommandOptions<typeof LIMIT & typeof APPROVE_PROGRAM>>;
export type SameOptions = Partial<CommandOptions<typeof SAME>>;
