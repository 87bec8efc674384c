import { Command, CommanderError, Help, InvalidArgumentError, Option } from "commander";
import { EXIT } from "./exit-code.ts";
import { Failure, failureOf, strayFailure } from "./failure.ts";
import { guarded } from "./guarded.ts";
import { APPROVE_MODES } from "./input/option-values.ts";
import { parseLimit } from "./input/units.ts";
import { PROVIDERS } from "../models/provider/providers.ts";
import { standardStreams, type Streams, useStreams, writeStderr } from "./terminal/standard-streams.ts";
import { version } from "./package-json.ts";
import { completeHint, type Given } from "./terminal/executions/waiting-hints.ts";
import { oneLine } from "./terminal/one-line.ts";
import { MAX_TURNS } from "../agent/agent-options.ts";
import { AT_ONCE, CUT_TOKENS, REPEAT, WINDOW_TOKENS } from "../comparison/compare-numbers.ts";
import { count } from "../output/count-text.ts";
import { insetText } from "../output/foreign-text.ts";
import { checkOptions, type OptionPlace } from "../option-rules/options.ts";
import { LIMIT_RULES, type Limits } from "../programs/limits.ts";
import { LISTEN_RULES } from "../serve/server-options.ts";
import { FOUND_DEFAULT } from "../tools/search/search-tool.ts";

let exitCode: number = EXIT.completed;

/** How errors about `--limit` name the option. */
const LIMIT_FLAG: OptionPlace = { object: "--limit", subject: "--limit", at: (name) => `--limit ${name}` };

function collectLimit(text: string, before: Partial<Limits>): Partial<Limits> {
  const limit = parseLimit(text);
  if (typeof limit === "string") throw new InvalidArgumentError(limit);
  return { ...before, ...checkOptions(LIMIT_FLAG, { [limit.name]: limit.value }, LIMIT_RULES) };
}

function repeatable(flags: string, description: string): Option {
  const collect = (text: string, before: readonly string[]) => [...before, text];
  return new Option(flags, description).argParser(collect).default([]);
}

// Options that several commands have.
const LIMIT = new Option(
  "--limit <name=value>",
  `change a limit (repeatable); values may end in KiB, MiB, ms, s, min, h, d (${Object.keys(LIMIT_RULES).join(", ")})`,
)
  .argParser(collectLimit)
  .default({});
/** Option of the commands that make calls. */
const APPROVE = new Option(
  "--approve <how>",
  `how calls that need approval are decided: ${APPROVE_MODES.join(", ")}`,
).default("ask");
/** Option of the commands that run others' programs. */
const APPROVE_PROGRAM = new Option(
  "--approve-program",
  "hold each program itself for a decision before it starts, as --approve says",
);
const ARTIFACTS = new Option("--artifacts <folder>", "write what programs have kept to files of this folder");
/** Options of the commands that take tools. */
const TOOLS = [
  new Option("--tools <module>", "module whose default export is an array of tools"),
  repeatable("--mcp <file>", "configuration file of MCP servers, like .mcp.json (repeatable)"),
  repeatable("--openapi <file>", "JSON file that describes an API: name, spec, baseUrl, auth (repeatable)"),
  repeatable(
    "--allow <tools=effect>",
    "programs may call these tools of sources: files.*=read, files.write_file=write (repeatable)",
  ),
];
const SANDBOX = new Option("--sandbox <name>", "sandbox for programs: isolate or docker").default("isolate");
/** Options of the commands that serve over HTTP. */
const SERVER = [
  new Option("--host <address>", "address to listen on; another than the loopback's needs --keys (default: 127.0.0.1)"),
  new Option("--keys <file>", "JSON file of the keys of clients (default: one token, printed at the start)"),
  repeatable("--host-name <name>", "a further name under which clients may address it (repeatable)"),
  new Option("--at-once <number>", "executions that run at once; 256 by default"),
  new Option("--per-tenant <number>", "executions of one tenant that run at once; by default one less than --at-once"),
  new Option("--queue <number>", "executions that may wait for a place; 1,000 by default"),
  new Option("--log", "print a line of JSON for each request on standard error, without contents"),
];
const BASE_URL = new Option("--base-url <url>", "a server that speaks the protocol of the model's provider");
const FALLBACK = repeatable(
  "--fallback <provider:name>",
  "a model that goes on if the model before it fails for good (repeatable)",
);
const NO_STREAM = new Option("--no-stream", "request each turn as one reply, not as a stream");
const TENANT = new Option("--tenant <name>", "tenant of the execution (default: default)");
const EXECUTION = new Option(
  "--execution <id>",
  "id of the execution: the same id again gives the same execution; needs a journal",
);
const JOURNAL = new Option("--journal <file>", "file of the journal (default: the variable PORTCULLIS_JOURNAL)");
const REPORT_JSON = new Option("--json", "print the whole report as one JSON document");
const JSON_LINE = new Option("--json", "print what was done as one JSON document");
const JSON_LINES = new Option("--json", "print one JSON document a line");
const KEYS_FILE = new Option("--keys <file>", "the file of keys, as serve and mcp read it").makeOptionMandatory();

/** Lists and records are empty by default; the description of their option says so. */
function optionDescription(option: Option): string {
  const value: unknown = option.defaultValue;
  const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
  return isEmpty ? option.description : new Help().optionDescription(option);
}

type Action = Parameters<Command["action"]>[0];

class PortcullisCommand extends Command {
  override createCommand(name: string): PortcullisCommand {
    return new PortcullisCommand(name);
  }

  addOptions(...options: readonly Option[]): this {
    for (const option of options) this.addOption(option);
    return this;
  }

  example(command: string): this {
    return this.addHelpText("after", `\nExample:\n  ${command}`);
  }

  /** `work` resolves with the exit code. */
  runs(work: (...given: Parameters<Action>) => number | Promise<number>): this {
    return this.action(async (...given) => {
      exitCode = await work(...given);
    });
  }
}

const program = new PortcullisCommand("portcullis")
  .description("Runs programs that models write: in a sandbox, with only the tools that you allow.")
  .version(version)
  .configureHelp({ optionDescription })
  .configureOutput({
    writeOut: (text) => void standardStreams().stdout.write(text),
    writeErr: (text) => void standardStreams().stderr.write(text),
  })
  .exitOverride()
  .showHelpAfterError("(add --help for all options)")
  .addHelpText(
    "after",
    "\nExit codes: 0 completed, 1 the program failed, 2 wrong usage, 3 refused, 4 stopped by a limit, 5 this machine or the tools cannot run it, 6 waiting for decisions or results, 130 cancelled (143 by SIGTERM, 129 by SIGHUP; serve and mcp --http end so with 0).",
  );

program.commandsGroup("Run programs:");
program
  .command("run")
  .example(`portcullis run program.js --tools ./tools.js`)
  .description("run a program and print the result as a model would read it")
  .argument("<program>", "file with the program's source, or - for standard input")
  .addOptions(...TOOLS, SANDBOX)
  .option(
    "--language <name>",
    "language of the program: javascript, or python in docker (default: python for a .py file, else javascript)",
  )
  .addOptions(LIMIT, APPROVE, APPROVE_PROGRAM, TENANT, EXECUTION)
  .option("--result <schema.json>", "file with the JSON Schema of what the program has to return")
  .addOptions(JOURNAL, ARTIFACTS, REPORT_JSON)
  .runs(async (file, options) => (await import("./commands/run/run.ts")).run(file, options));

program
  .command("ask")
  .example(`portcullis ask "Which order is late?" --model anthropic:claude-sonnet-4-5 --tools ./tools.js`)
  .description("give a task to a model that may call the tools")
  .argument("<task>", "the task, as text")
  .requiredOption(
    "--model <provider:name>",
    `the model: ${[...PROVIDERS.keys()].join(", ")}, a colon, its name; or a module whose default export is a model`,
  )
  .addOptions(...TOOLS)
  .option("--programs <where>", "where its programs run: local, hosted (at the provider) or none")
  .addOptions(SANDBOX, BASE_URL)
  .option("--max-turns <number>", `maximum number of turns; ${MAX_TURNS.default} by default`)
  .option("--instructions <file>", "text of your own for the model, beside the text of the package")
  .addOption(
    repeatable("--context <file>", "a document that the model has before it begins, like AGENTS.md (repeatable)"),
  )
  .option("--tool-choice <choice>", "auto, none, required, or the name of a tool that the model has to call first")
  .option("--no-parallel-calls", "one call in a turn")
  .option("--reasoning <effort>", "how much the model reasons: low, medium or high")
  .option("--max-output-tokens <number>", "maximum number of output tokens of one turn")
  .addOption(FALLBACK)
  .option("--answer <file>", "JSON Schema that the answer has to fit")
  .addOptions(LIMIT, TENANT, EXECUTION, JOURNAL, APPROVE, APPROVE_PROGRAM)
  .addOptions(NO_STREAM, ARTIFACTS)
  .option("--json", "print ending, answer, turns, calls and usage as one JSON document")
  .runs(async (task, options) => (await import("./commands/run/ask.ts")).ask(task, options));

program.commandsGroup("Tools:");
program
  .command("tools")
  .example(`portcullis tools search "open orders" --mcp .mcp.json`)
  .description(
    "list tools, and the tokens that each takes in a model's context, as JSON and as typed stubs; search WORDS finds tools, show NAME prints one",
  )
  .argument("[action...]", "nothing, or: search WORDS, show NAME")
  .addOptions(...TOOLS)
  .option("--json", "print as JSON")
  .option("--stubs", "print the typed stubs instead")
  .option("--limit <number>", `maximum of tools that search finds; ${FOUND_DEFAULT} by default`)
  .option("--check", "list the tools of servers that no caller may call, with the line to add, and what was left out")
  .runs(async (words, options) => (await import("./commands/tools/list-tools.ts")).listTools(words, options));

program.commandsGroup("Serve:");
program
  .command("mcp")
  .example(`portcullis mcp --tools ./tools.js --journal portcullis.db`)
  .description(
    "serve run_program, and the tools that may be called directly, to MCP clients: on the standard streams, or over HTTP",
  )
  .addOptions(...TOOLS)
  .option(
    "--http <port>",
    "serve over HTTP at /mcp on this port, 0 for any that is free; the options of a server go with it",
  )
  .addOptions(...SERVER)
  .option(
    "--drain <time>",
    "how long running executions may take to end when the server is told to end: 30, 30s, 2min; 0 by default",
  )
  // Of `serve`. The name that is most like it here is another option's.
  .addOption(new Option("--port <number>").hideHelp())
  .addOptions(SANDBOX, LIMIT)
  .option(
    "--approve <how>",
    `how calls that need approval are decided: ${APPROVE_MODES.join(", ")}; ask: by the client's user, or later if the client cannot ask and there is a journal`,
    "ask",
  )
  .option("--tenant <name>", "tenant of the programs, if no key names one")
  .addOption(JOURNAL)
  .option(
    "--patience <time>",
    "how long a request waits for its program before it says how to get the result: 50, 50s, 2min; 50 s by default",
  )
  .option("--check", "connect, print what would be served, its tokens and its problems, and exit")
  .option("--json", "with --check, print as JSON")
  .runs(async (options) => (await import("./commands/serve/mcp.ts")).mcp(options));

program
  .command("serve")
  .example(`portcullis serve --tools ./tools.js --journal portcullis.db --keys keys.json`)
  .description("serve programs over HTTP, with MCP at /mcp and a page to look at, until it is told to end")
  .addOptions(...TOOLS)
  .option("--port <number>", `port to listen on, 0 for any that is free; ${LISTEN_RULES.port.default} by default`)
  .addOptions(...SERVER)
  .addOption(repeatable("--model <provider:name>", "a model that continues conversations of the journal (repeatable)"))
  .addOptions(BASE_URL, SANDBOX, LIMIT, JOURNAL)
  .option(
    "--drain <time>",
    "how long running executions may take to end when the server is told to end: 30, 30s, 2min; 30 s by default",
  )
  .option("--open", "open the page in a browser")
  .runs(async (options) => (await import("./commands/serve/serve.ts")).serve(options));

const key = program.command("key").description("add, list or revoke the keys of a server's clients");
key
  .command("add")
  .description("add a key, print it once, and store its SHA-256; creates the file if there is none")
  .argument("<id>", "name of the key")
  .addOption(KEYS_FILE)
  .option("--tenant <name>", "tenant of its executions", "default")
  .addOption(
    repeatable("--scope <name>", "what it may do: run, decide, read or admin (repeatable; default: all but admin)"),
  )
  .addOption(repeatable("--allow-tool <name>", "a tool that it may use, like crm.* (repeatable; default: all)"))
  .option("--expires <time>", "when it expires, like 2027-01-31T00:00:00Z")
  .addOption(JSON_LINE)
  .runs(async (id, options) => (await import("./commands/serve/key.ts")).keyAdd(id, options));
key
  .command("list")
  .description("list the keys of a file, without the keys themselves")
  .addOptions(KEYS_FILE, JSON_LINES)
  .runs(async (options) => (await import("./commands/serve/key.ts")).keyList(options));
key
  .command("revoke")
  .description("remove a key from a file")
  .argument("<id>", "name of the key")
  .addOptions(KEYS_FILE, JSON_LINE)
  .runs(async (id, options) => (await import("./commands/serve/key.ts")).keyRevoke(id, options));

program.commandsGroup("Measure:");
program
  .command("bench")
  .example(`portcullis bench flights`)
  .description("measure the tokens that programs save against direct calls, without a request to a provider")
  .argument("[task...]", "tasks of the package (the examples); all by default")
  .option(
    "--task <file>",
    "your own task, as a JSON file (format: examples/README.md), or names of the package's tasks: a,b",
  )
  .option("--tools <module>", "tools of your own task: a module whose default export is an array of tools")
  .addOption(SANDBOX)
  .option("--language <name>", "language of the programs: javascript, or python in docker", "javascript")
  .addOptions(LIMIT, APPROVE)
  .option("--at-once <number>", `calls that a model makes at once; ${AT_ONCE.default} by default`)
  .option(
    "--cut <tokens>",
    `tokens at which results are cut, in the mode that cuts them; ${count(CUT_TOKENS.default)} by default`,
  )
  .option("--window <tokens>", `size of the context window, in tokens; ${count(WINDOW_TOKENS.default)} by default`)
  .option(
    "--prices <file>",
    "your own prices, as JSON in the form of the package's src/comparison/accounting/prices.json",
  )
  .option("--priced-as <model>", "model whose prices weight the tokens; by default the usual price ratios")
  .option("--live", "measure with a real model, in both modes, several times: it costs money")
  .option("--provider <name>", `with --live, the provider: ${[...PROVIDERS.keys()].join(", ")}`)
  .option("--model <name>", "with --live, the name of the model at the provider")
  .option("--base-url <url>", "with --live, a server that speaks the provider's protocol")
  .option("--mode <modes>", "with --live, direct or programmatic; both by default")
  .option("--repeat <number>", `with --live, trials of each task in each mode; ${REPEAT.default} by default`)
  .option("--max-usd <dollars>", "with --live, maximum cost in US dollars; no turn is begun that could exceed it")
  .option(
    "--out <folder>",
    "folder for report.json and report.md; with --live, for live.json and each conversation, a new folder by default",
  )
  .option("--json", "print the report as JSON")
  .runs(async (tasks, options) => (await import("./commands/measure/bench.ts")).bench(tasks, options));

program
  .command("demo")
  .example(`portcullis demo flights`)
  .description("run the examples on real data and check their answers")
  .argument("[example...]", "any folder of examples/ (default: flights and licenses)")
  .addOption(SANDBOX)
  .option("--model <provider:name>", "for desk: a model in place of the scripted one; on a terminal you take part")
  .runs(async (examples, options) => (await import("./commands/measure/demo.ts")).demo(examples, options));

program.commandsGroup("Look at executions:");
program
  .command("executions")
  .example(`portcullis executions --journal portcullis.db --open`)
  .description("list the executions and conversations of a journal, the latest first")
  .addOption(JOURNAL)
  .option("--open", "only executions without an outcome")
  .option("--tenant <name>", "only executions of this tenant")
  .option("--follow", "show executions as they go on, open executions first, until Ctrl-C")
  .addOption(JSON_LINES)
  .runs(async (options) => (await import("./commands/journal/executions.ts")).executions(options));

program
  .command("show")
  .example(`portcullis show EXECUTION --journal portcullis.db`)
  .description("show one execution: its program, calls, decisions and outcome")
  .argument("<execution>", "id of the execution; also the one that a client of a server has chosen")
  .option("--tenant <name>", "tenant of the execution, if several have one of that id")
  .addOption(JOURNAL)
  .option("--follow", "show it while it runs and until it ends, also one that is not there yet")
  .option("--json", "print its records, one a line")
  .option("--html <file>", "write it as one HTML file that needs no server, and print the address of the file")
  .runs(async (id, options) => (await import("./commands/journal/show.ts")).show(id, options));

const journal = program.command("journal").description("export, import, prune or check a journal");
journal
  .command("export")
  .description("print executions as JSON lines, the oldest first")
  .argument("[execution...]", "ids of executions; all by default")
  .addOption(JOURNAL)
  .runs(async (ids, options) => (await import("./commands/journal/journal.ts")).exportJournal(ids, options));
journal
  .command("import")
  .description("add the executions of JSON lines, and create the journal if it does not exist")
  .argument("[file]", "file of JSON lines, as export prints them, or - for standard input", "-")
  .option("--skip-existing", "pass over executions whose ids the journal has already")
  .addOptions(JOURNAL, JSON_LINE)
  .runs(async (file, options) => (await import("./commands/journal/journal.ts")).importJournal(file, options));
journal
  .command("prune")
  .description("delete old executions that have ended")
  .requiredOption("--older-than <age>", "age like 30d, 12h or 5min")
  .option("--open", "also executions without an outcome that no driver holds")
  .addOptions(JOURNAL, JSON_LINE)
  .runs(async (options) => (await import("./commands/journal/journal.ts")).pruneJournal(options));
journal
  .command("check")
  .description("read everything, and list what is damaged")
  .addOption(JOURNAL)
  .option("--json", "print each damaged place as one JSON document a line")
  .runs(async (options) => (await import("./commands/journal/journal.ts")).checkJournal(options));

program.commandsGroup("Go on with executions:");
program
  .command("decide")
  .example(`portcullis decide EXECUTION 1 --allow --by ana --journal portcullis.db`)
  .description("allow or deny a call that waits, or say that it was done; runs nothing")
  .argument("<execution>", "id of the execution")
  .argument("<call>", "id of the call")
  .option("--allow", "the call may run")
  .option("--deny", "the call may not run")
  .option("--done <json>", "the call was done, with this result: for a call whose outcome is unknown")
  .option("--by <name>", "who decides, for the journal")
  .option("--note <text>", "why, for the journal; the program reads the note of a denial")
  .option("--remember", "decide later calls of the execution with the same tool and input alike")
  .addOptions(TENANT, JOURNAL, JSON_LINE)
  .runs(async (execution, call, options) =>
    (await import("./commands/run/decide.ts")).decide(execution, call, options),
  );

program
  .command("resume")
  .example(`portcullis resume EXECUTION --tools ./tools.js --journal portcullis.db`)
  .description("take up an execution that waits, or whose host died, and print its report")
  .argument("<execution>", "id of the execution")
  .option(
    "--model <provider:name>",
    "the model of a conversation, or a module that exports it by default (default: the one it began with)",
  )
  .addOptions(BASE_URL, FALLBACK, NO_STREAM, ...TOOLS, SANDBOX, APPROVE)
  .addOption(repeatable("--result <call=json>", "result of a call that a client answers (repeatable)"))
  .option(
    "--result-schema <schema.json>",
    "the JSON Schema of what the program has to return, if it began with one that the journal has not kept",
  )
  .option("--allow-changed-tools", "go on although tools are gone or changed")
  .addOptions(TENANT, JOURNAL, ARTIFACTS, REPORT_JSON)
  .runs(async (execution, options) => (await import("./commands/run/resume.ts")).resume(execution, options));

program
  .command("recover")
  .example(`portcullis recover --tools ./tools.js --journal portcullis.db`)
  .description("take up every execution whose host died, and print the reports")
  .option(
    "--model <provider:name>",
    "the model of a conversation, or a module that exports it by default; without it, conversations stay open",
  )
  .addOptions(BASE_URL, ...TOOLS, SANDBOX)
  .option("--tenant <name>", "only executions of this tenant")
  .addOption(repeatable("--execution <id>", "only this execution (repeatable; default: all)"))
  .option("--concurrency <n>", "number of executions that are taken up at once, 8 by default")
  .addOptions(APPROVE, JOURNAL)
  .option("--json", "print each report as one JSON document a line")
  .runs(async (options) => (await import("./commands/run/resume.ts")).recover(options));

program.commandsGroup("Set up:");
program
  .command("doctor")
  .example(`portcullis doctor`)
  .description("check whether this machine can run programs, and list what is missing")
  .option("--json", "print as JSON")
  .option("--clean", "first end engines and remove containers that dead hosts have left")
  .runs(async (options) => (await import("./commands/doctor.ts")).doctor(options));

program
  .command("image")
  .example(`portcullis image build`)
  .description("build or check the image that --sandbox docker runs programs in")
  .argument("<build|check>", "build the image, or check it")
  .option("--network <name>", "network of the build: host, if the Docker daemon gives builds no network")
  .option("--base <image>", "Debian base image, by digest for a repeatable build (default: debian:bookworm-slim)")
  .addOption(JSON_LINE)
  .runs(async (what, options) => (await import("./commands/image.ts")).image(what, options));

/** The arguments of the command, for the commands that its errors name. */
let given: Given = {};
program.hook("preAction", (_, command) => {
  const { journal, keys } = command.opts<Given>();
  const named = command.registeredArguments[0]?.name() === "execution" ? command.args[0] : undefined;
  given = { journal, keys, execution: named };
});

/** Runs one command. Resolves with its exit code, and does not reject. A process runs one command at a time. */
export async function main(args: readonly string[], streams: Streams): Promise<number> {
  useStreams(streams);
  [exitCode, given] = [EXIT.completed, {}];
  try {
    await guarded(() => program.parseAsync(args, { from: "user" }), strayFailure);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    const failure = failureOf(error);
    return printFailure(new Failure(failure.exitCode, completeHint(failure.message, given), failure));
  }
}

/** Says why a command has no result, and gives its exit code. */
export function printFailure({ message, details, exitCode }: Failure): number {
  writeStderr(`portcullis: ${oneLine(message)}\n${details === "" ? "" : `${insetText(details)}\n`}`);
  return exitCode;
}
