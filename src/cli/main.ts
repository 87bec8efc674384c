import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { EXIT } from "./exit-code.ts";
import { type Failure, failureOf, strayFailure } from "./failure.ts";
import { guarded, listenToProcess } from "./guarded.ts";
import { APPROVE_MODES } from "./input/parse-approve.ts";
import { parseLimit } from "./input/parse-limit.ts";
import { PROVIDERS } from "../models/providers.ts";
import { flush, listenToStreams } from "./terminal/standard-streams.ts";
import { version } from "./package-json.ts";
import { oneLine } from "./terminal/one-line.ts";
import { MAX_TURNS } from "../agent/max-turns.ts";
import { AT_ONCE, CUT_TOKENS, REPEAT, WINDOW_TOKENS } from "../comparison/compare-numbers.ts";
import { insetText } from "../output/foreign-text.ts";
import { checkOptions, type OptionPlace } from "../options/options.ts";
import { LIMIT_RULES, type Limits } from "../programs/limits.ts";
import { LISTEN_RULES } from "../serve/server-options.ts";
import { flushTelemetry } from "../telemetry/flush.ts";
import { FOUND_DEFAULT } from "../tools/search/search-tool.ts";

let exitCode: number = EXIT.completed;

/** How errors about `--limit` name the option. */
const LIMIT_FLAG: OptionPlace = { object: "--limit", subject: "--limit", at: (name) => `--limit ${name}` };

function collectLimit(text: string, before: Partial<Limits>): Partial<Limits> {
  const limit = parseLimit(text);
  if (typeof limit === "string") throw new InvalidArgumentError(limit);
  return { ...before, ...checkOptions(LIMIT_FLAG, { [limit.name]: limit.value }, LIMIT_RULES) };
}

/** `--limit` of the commands that run programs. */
const limitOption = () =>
  new Option(
    "--limit <name=value>",
    `change a limit (repeatable); values may end in KiB, MiB, ms, s, min, h, d (${Object.keys(LIMIT_RULES).join(", ")})`,
  )
    .argParser(collectLimit)
    .default({});

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

/** `--approve` of the commands that make calls. */
const approveOption = () =>
  new Option("--approve <how>", `how calls that need approval are decided: ${APPROVE_MODES.join(", ")}`).default("ask");

/** `--approve-program` of the commands that run programs of others. */
const APPROVE_PROGRAM = [
  "--approve-program",
  "hold each program itself for a decision before it starts, as --approve says",
] as const;
const ARTIFACTS = ["--artifacts <folder>", "write what programs have kept to files of this folder"] as const;
const TOOLS = ["--tools <module>", "module whose default export is an array of tools"] as const;

/** `--mcp`, `--openapi` and `--allow` of the commands that take tools of sources. */
const mcpOption = () =>
  new Option("--mcp <file>", "configuration file of MCP servers, like .mcp.json (repeatable)")
    .argParser(collect)
    .default([]);
const openApiOption = () =>
  new Option("--openapi <file>", "JSON file that describes an API: name, spec, baseUrl, auth (repeatable)")
    .argParser(collect)
    .default([]);
const allowOption = () =>
  new Option(
    "--allow <tools=effect>",
    "programs may call these tools of sources: files.*=read, files.write_file=write (repeatable)",
  )
    .argParser(collect)
    .default([]);

const program = new Command("portcullis")
  .description("Runs programs that models write: in a sandbox, with only the tools that you allow.")
  .version(version)
  .exitOverride()
  .showHelpAfterError("(add --help for all options)")
  .addHelpText(
    "after",
    "\nExit codes: 0 completed, 1 the program failed, 2 wrong usage, 3 refused, 4 stopped by a limit, 5 this machine or the tools cannot run it, 6 waiting for decisions or results, 130 cancelled (143 by SIGTERM, 129 by SIGHUP).",
  );

const JOURNAL = ["--journal <file>", "file of the journal (default: the variable PORTCULLIS_JOURNAL)"] as const;

program
  .command("run")
  .description("run a program and print the result as a model would read it")
  .argument("<program>", "file with the program's source, or - for standard input")
  .option(...TOOLS)
  .addOption(mcpOption())
  .addOption(openApiOption())
  .addOption(allowOption())
  .option("--sandbox <name>", "sandbox to run it in: isolate or docker", "isolate")
  .option(
    "--language <name>",
    "language of the program: javascript, or python in docker (default: python for a .py file, else javascript)",
  )
  .addOption(limitOption())
  .addOption(approveOption())
  .option(...APPROVE_PROGRAM)
  .option("--tenant <name>", "tenant that the program runs for")
  .option("--execution <id>", "id of the execution: the same id again gives the same execution")
  .option("--result <schema.json>", "file with the JSON Schema of what the program has to return")
  .option(...JOURNAL)
  .option(...ARTIFACTS)
  .option("--json", "print the whole report as one JSON document")
  .action(async (file: string, options) => {
    const { run } = await import("./commands/run.ts");
    exitCode = await run(file, options);
  });

program
  .command("ask")
  .description("give a task to a model that may call the tools")
  .argument("<task>", "the task, as text")
  .requiredOption(
    "--model <provider:name>",
    `the model: ${[...PROVIDERS.keys()].join(", ")}, a colon, its name; or a module whose default export is a model`,
  )
  .option(...TOOLS)
  .addOption(mcpOption())
  .addOption(openApiOption())
  .addOption(allowOption())
  .option("--programs <where>", "where its programs run: local, hosted (at the provider) or none")
  .option("--sandbox <name>", "sandbox for programs that run locally: isolate or docker", "isolate")
  .option("--base-url <url>", "a server that speaks the provider's protocol")
  .option("--max-turns <number>", `maximum number of turns; ${MAX_TURNS.default} by default`)
  .option("--instructions <file>", "text of your own for the model, beside that of the package")
  .addOption(
    new Option("--context <file>", "a document that the model has before it begins, like AGENTS.md (repeatable)")
      .argParser(collect)
      .default([]),
  )
  .option("--tool-choice <choice>", "auto, none, required, or the name of a tool that the model has to call first")
  .option("--no-parallel-calls", "one call in a turn")
  .option("--reasoning <effort>", "how much the model reasons: low, medium or high")
  .option("--max-output-tokens <number>", "maximum number of output tokens of one turn")
  .addOption(
    new Option("--fallback <provider:name>", "a model that goes on where the one before it fails for good (repeatable)")
      .argParser(collect)
      .default([]),
  )
  .option("--answer <file>", "JSON Schema that the answer has to fit")
  .option(...JOURNAL)
  .addOption(approveOption())
  .option(...APPROVE_PROGRAM)
  .option("--no-stream", "request each turn as one reply, not as a stream")
  .option(...ARTIFACTS)
  .option("--json", "print ending, answer, turns, calls and usage as one JSON document")
  .action(async (task: string, options) => {
    const { ask } = await import("./commands/ask.ts");
    exitCode = await ask(task, options);
  });

program
  .command("tools")
  .description(
    "list tools, and the tokens that each takes in a model's context, as JSON and as typed stubs; search WORDS finds tools, show NAME prints one",
  )
  .argument("[action...]", "nothing, or: search WORDS, show NAME")
  .option(...TOOLS)
  .addOption(mcpOption())
  .addOption(openApiOption())
  .addOption(allowOption())
  .option("--json", "print as JSON")
  .option("--stubs", "print the typed stubs instead")
  .option("--limit <number>", `maximum of tools that search finds; ${FOUND_DEFAULT} by default`)
  .option("--check", "list the tools of servers that no caller may call, with the line to add, and what was left out")
  .option(
    "--advise [report]",
    "advise which tools to call directly, from a report of bench (default: bench/report.json)",
  )
  .action(async (words, options) => {
    const { listTools } = await import("./commands/list-tools.ts");
    exitCode = await listTools(words, options);
  });

program
  .command("mcp")
  .description(
    "serve run_program, and the tools that may be called directly, to MCP clients: on the standard streams, or over HTTP",
  )
  .option(...TOOLS)
  .addOption(mcpOption())
  .addOption(openApiOption())
  .addOption(allowOption())
  .option("--http <port>", `serve over HTTP at /mcp on this port, 0 for any that is free`)
  .option("--host <address>", "with --http, the address to listen on; another than the loopback's needs --keys")
  .option(
    "--keys <file>",
    "with --http, JSON file of the keys that clients may use (default: one key, printed at the start)",
  )
  .addOption(
    new Option("--host-name <name>", "with --http, a further name under which clients may address it (repeatable)")
      .argParser(collect)
      .default([]),
  )
  .option("--sandbox <name>", "sandbox for the programs: isolate or docker", "isolate")
  .addOption(limitOption())
  .option(
    "--approve <how>",
    `how calls that need approval are decided: ${APPROVE_MODES.join(", ")}; ask: by the client's user, or later where the client cannot ask and there is a journal`,
    "ask",
  )
  .option("--tenant <name>", "tenant of the programs, where no key names one")
  .option(...JOURNAL)
  .option(
    "--patience <seconds>",
    "how long a request waits for its program before it says how to get the result; 50 by default",
  )
  .option("--check", "connect, print what would be served, its tokens and its problems, and exit")
  .option("--json", "with --check, print as JSON")
  .action(async (options) => {
    const { mcp } = await import("./commands/mcp.ts");
    exitCode = await mcp(options);
  });

program
  .command("serve")
  .description("serve programs over HTTP, with MCP at /mcp and a page to look at, until it is told to end")
  .option(...TOOLS)
  .addOption(mcpOption())
  .addOption(openApiOption())
  .addOption(allowOption())
  .option("--port <number>", `port to listen on, 0 for any that is free; ${LISTEN_RULES.port.default} by default`)
  .option("--host <address>", "address to listen on; another than the loopback's needs --keys (default: 127.0.0.1)")
  .option("--keys <file>", "JSON file of the keys of clients (default: one token, printed at the start)")
  .addOption(
    new Option("--host-name <name>", "a further name under which clients may address it (repeatable)")
      .argParser(collect)
      .default([]),
  )
  .addOption(
    new Option("--model <provider:name>", "a model that continues conversations of the journal (repeatable)")
      .argParser(collect)
      .default([]),
  )
  .option("--base-url <url>", "a server that speaks the protocol of the models' provider")
  .option("--sandbox <name>", "sandbox for the programs: isolate or docker", "isolate")
  .addOption(limitOption())
  .option(...JOURNAL)
  .option("--at-once <number>", "executions that run at once; 256 by default")
  .option("--per-tenant <number>", "executions of one tenant that run at once; as many as --at-once by default")
  .option("--queue <number>", "executions that may wait for a place; 1,000 by default")
  .option("--drain <seconds>", "time that running executions have to end when the server is told to end; 30 by default")
  .option("--log", "print a line of JSON for each request on standard error, without contents")
  .option("--open", "open the page in a browser")
  .action(async (options) => {
    const { serve } = await import("./commands/serve.ts");
    exitCode = await serve(options);
  });

const key = program.command("key").description("add, list or revoke the keys of a server's clients");
const KEYS_FILE = ["--keys <file>", "the file of keys, as serve and mcp read it"] as const;
key
  .command("add")
  .description("add a key, print it once, and store its SHA-256; creates the file if there is none")
  .argument("<id>", "name of the key")
  .requiredOption(...KEYS_FILE)
  .option("--tenant <name>", "tenant of its executions", "default")
  .option(
    "--scope <name>",
    "what it may do: run, decide, read or admin (repeatable; default: all but admin)",
    collect,
    [],
  )
  .option("--allow-tool <name>", "a tool that it may use, like crm.* (repeatable; default: all)", collect, [])
  .option("--expires <time>", "when it expires, like 2027-01-31T00:00:00Z")
  .action(async (id: string, options) => {
    const { keyAdd } = await import("./commands/key.ts");
    exitCode = keyAdd(id, options);
  });
key
  .command("list")
  .description("list the keys of a file, without the keys themselves")
  .requiredOption(...KEYS_FILE)
  .option("--json", "print one JSON document a line")
  .action(async (options) => {
    const { keyList } = await import("./commands/key.ts");
    exitCode = keyList(options);
  });
key
  .command("revoke")
  .description("remove a key from a file")
  .argument("<id>", "name of the key")
  .requiredOption(...KEYS_FILE)
  .action(async (id: string, options) => {
    const { keyRevoke } = await import("./commands/key.ts");
    exitCode = keyRevoke(id, options);
  });

program
  .command("bench")
  .description("measure the tokens that programs save against direct calls, without a request to a provider")
  .argument("[task...]", "tasks of the package (the examples); all by default")
  .option(
    "--task <file>",
    "your own task, as a JSON file (format: examples/README.md), or names of the package's tasks: a,b",
  )
  .option("--tools <module>", "tools of your own task: a module whose default export is an array of tools")
  .option("--sandbox <name>", "sandbox to run programs in: isolate or docker", "isolate")
  .option("--language <name>", "language of the programs: javascript, or python in docker", "javascript")
  .addOption(limitOption())
  .addOption(approveOption())
  .option("--at-once <number>", `calls that a model makes at once; ${AT_ONCE.default} by default`)
  .option(
    "--cut <tokens>",
    `tokens at which results are cut, in the mode that cuts them; ${CUT_TOKENS.default} by default`,
  )
  .option("--window <tokens>", `size of the context window, in tokens; ${WINDOW_TOKENS.default} by default`)
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
  .action(async (tasks: string[], options) => {
    const { bench } = await import("./commands/bench.ts");
    exitCode = await bench(tasks, options);
  });

program
  .command("executions")
  .description("list the executions and conversations of a journal, the latest first")
  .option(...JOURNAL)
  .option("--open", "only those without an outcome")
  .option("--tenant <name>", "only those of one tenant")
  .option("--json", "print one JSON document a line")
  .action(async (options) => {
    const { executions } = await import("./commands/executions.ts");
    exitCode = await executions(options);
  });

program
  .command("show")
  .description("show one execution: its program, calls, decisions and outcome")
  .argument("<execution>", "id of the execution; also the one that a client of a server has chosen")
  .option("--tenant <name>", "tenant of the execution, where several have one of that id")
  .option(...JOURNAL)
  .option("--json", "print its records, one a line")
  .option("--html <file>", "write it as one HTML file that needs no server, and print the address of the file")
  .action(async (id: string, options) => {
    const { show } = await import("./commands/show.ts");
    exitCode = await show(id, options);
  });

program
  .command("watch")
  .description("show executions while they run, or one execution until it ends")
  .argument("[execution]", "id of the execution; all by default")
  .option(...JOURNAL)
  .option("--tenant <name>", "only those of one tenant")
  .action(async (id: string | undefined, options) => {
    const { watch } = await import("./commands/watch.ts");
    exitCode = await watch(id, options);
  });

program
  .command("decide")
  .description("allow or deny a call that waits, or say that it was done; runs nothing")
  .argument("<execution>", "id of the execution")
  .argument("<call>", "id of the call")
  .option("--allow", "the call may run")
  .option("--deny", "the call may not run")
  .option("--done <json>", "the call was done, with this result: for a call whose outcome is unknown")
  .option("--by <name>", "who decides, for the journal")
  .option("--note <text>", "why, for the journal; the program reads the note of a denial")
  .option("--remember", "decide later calls of the execution with the same tool and input alike")
  .option("--tenant <name>", "tenant of the execution")
  .option(...JOURNAL)
  .action(async (execution: string, call: string, options) => {
    const { decide } = await import("./commands/decide.ts");
    exitCode = await decide(execution, call, options);
  });

program
  .command("resume")
  .description("take up an execution that waits, or whose host died, and print its report")
  .argument("<execution>", "id of the execution")
  .option(
    "--model <provider:name>",
    "the model of a conversation, or a module that exports it by default (default: the one it began with)",
  )
  .option("--base-url <url>", "a server that speaks the provider's protocol")
  .option(...TOOLS)
  .addOption(mcpOption())
  .addOption(openApiOption())
  .addOption(allowOption())
  .option("--sandbox <name>", "sandbox to run it in: isolate or docker", "isolate")
  .addOption(approveOption())
  .option("--result <call=json>", "result of a call that a client answers (repeatable)", collect, [])
  .option(
    "--result-schema <schema.json>",
    "the JSON Schema of what the program has to return, if it began with one that the journal has not kept",
  )
  .option("--allow-changed-tools", "go on although tools are gone or changed")
  .option("--tenant <name>", "tenant of the execution")
  .option(...JOURNAL)
  .option(...ARTIFACTS)
  .option("--json", "print the whole report as one JSON document")
  .action(async (execution: string, options) => {
    const { resume } = await import("./commands/resume.ts");
    exitCode = await resume(execution, options);
  });

program
  .command("recover")
  .description("take up every execution whose host died, and print the reports")
  .option(
    "--model <provider:name>",
    "the model of a conversation, or a module that exports it by default; without it, conversations stay open",
  )
  .option("--base-url <url>", "a server that speaks the provider's protocol")
  .option(...TOOLS)
  .addOption(mcpOption())
  .addOption(openApiOption())
  .addOption(allowOption())
  .option("--sandbox <name>", "sandbox to run them in: isolate or docker", "isolate")
  .option("--concurrency <n>", "number of executions that are taken up at once, 8 by default")
  .addOption(approveOption())
  .option(...JOURNAL)
  .option("--json", "print each report as one JSON document a line")
  .action(async (options) => {
    const { recover } = await import("./commands/resume.ts");
    exitCode = await recover(options);
  });

const journal = program.command("journal").description("export, import, prune or check a journal");
journal
  .command("export")
  .description("print executions as JSON lines, the oldest first")
  .argument("[execution...]", "ids of executions; all by default")
  .option(...JOURNAL)
  .action(async (ids: string[], options) => {
    const { exportJournal } = await import("./commands/journal.ts");
    exitCode = await exportJournal(ids, options);
  });
journal
  .command("import")
  .description("add the executions of JSON lines on standard input, and create the journal if it does not exist")
  .option(...JOURNAL)
  .action(async (options) => {
    const { importJournal } = await import("./commands/journal.ts");
    exitCode = await importJournal(options);
  });
journal
  .command("prune")
  .description("delete old executions that have ended")
  .requiredOption("--older-than <age>", "age like 30d, 12h or 5m")
  .option("--open", "also those without an outcome that no driver holds")
  .option(...JOURNAL)
  .action(async (options) => {
    const { pruneJournal } = await import("./commands/journal.ts");
    exitCode = await pruneJournal(options);
  });
journal
  .command("check")
  .description("read everything, and list what is damaged")
  .option(...JOURNAL)
  .action(async (options) => {
    const { checkJournal } = await import("./commands/journal.ts");
    exitCode = await checkJournal(options);
  });

program
  .command("doctor")
  .description("check whether this machine can run programs, and list what is missing")
  .option("--json", "print as JSON")
  .option("--clean", "first end engines and remove containers that dead hosts have left")
  .action(async (options) => {
    const { doctor } = await import("./commands/doctor.ts");
    exitCode = await doctor(options);
  });

program
  .command("image")
  .description("build or check the image that --sandbox docker runs programs in")
  .argument("<build|check>", "build the image, or check it")
  .option("--network <name>", "network of the build: host, where the Docker daemon gives builds no network")
  .option("--base <image>", "Debian base image, by digest for a repeatable build (default: debian:bookworm-slim)")
  .action(async (what: string, options) => {
    const { image } = await import("./commands/image.ts");
    exitCode = await image(what, options);
  });

program
  .command("demo")
  .description("run the examples on real data and check their answers")
  .argument("[example...]", "any folder of examples/ (default: flights and licenses)")
  .option("--sandbox <name>", "sandbox to run them in: isolate or docker", "isolate")
  .option("--model <provider:name>", "for desk: a model in place of the scripted one; on a terminal you take part")
  .option("--page", "show the executions on the page while they run and afterwards, and print its address")
  .action(async (examples: string[], options) => {
    const { demo } = await import("./commands/demo.ts");
    exitCode = await demo(examples, options);
  });

/** Resolves with the exit code, and does not reject. */
async function main(): Promise<number> {
  try {
    await guarded(() => program.parseAsync(), strayFailure);
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    return printFailure(failureOf(error));
  }
}

function printFailure({ message, details, exitCode }: Failure): number {
  process.stderr.write(`portcullis: ${oneLine(message)}\n${details === "" ? "" : `${insetText(details)}\n`}`);
  return exitCode;
}

/** How long the exporters of telemetry may take for what is left, in milliseconds. */
const TELEMETRY_MS = 2000;

/** Exits once all output is written, even while tools still hold timers, connections or running handlers. */
async function finish(code: number): Promise<never> {
  await flushTelemetry(TELEMETRY_MS);
  const lost = await flush();
  if (lost) {
    printFailure(lost);
    await flush();
  }
  process.exit(lost?.exitCode ?? code);
}

listenToStreams();
listenToProcess();
// Not awaited at the top level: node would exit with its own code if the promise never settled.
void main().then(finish);
