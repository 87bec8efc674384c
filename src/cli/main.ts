import { CommanderError } from "commander";
import * as options from "./command-options.ts";
import { EXIT, CommandFailure, failureOf, strayFailure, guardWork } from "./failure.ts";
import { PortcullisCommand } from "./portcullis-command.ts";
import { standardStreams, type Streams, useStreams, writeStderr, oneLine } from "./terminal/standard-streams.ts";
import { completeHint } from "./terminal/executions/waiting-hints.ts";
import { version } from "./package-json.ts";
import { insetText, PortcullisError } from "../base/index.ts";

export const program = new PortcullisCommand("portcullis")
  .description("Runs programs that models write: in a sandbox, with only the tools that you allow.")
  .version(version)
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

const loadBench = () => import("./commands/measure/bench.ts");
const loadServe = () => import("./commands/serve/serve.ts");
const loadJournal = () => import("./commands/journal/journal.ts");

program.commandsGroup("Start:");
program
  .subcommand(
    "init",
    "portcullis init my-tools",
    "write a folder to start from: tools, a program that calls them, and its task; overwrites nothing",
  )
  .argument("[folder]", "folder to write to, which is made if there is none", ".")
  .runs(options.INIT, () => import("./commands/init/init.ts"), "init");

program
  .subcommand("demo", "portcullis demo flights", "run the examples on real data and check their answers")
  .argument("[example...]", "any folder of examples/ (default: flights and licenses)")
  .runs(options.DEMO, loadBench, "demo");

program.commandsGroup("Run programs:");
program
  .subcommand(
    "run",
    "portcullis run program.js --tools ./tools.js",
    "run a program and print the result as a model would read it",
  )
  .argument("<program>", "file with the program's source, or - for standard input")
  .runs(options.RUN, () => import("./commands/run/run.ts"), "run");

program
  .subcommand(
    "ask",
    'portcullis ask "Which order is late?" --model anthropic:claude-sonnet-4-5 --tools ./tools.js',
    "give a task to a model that may call the tools",
  )
  .argument("<task>", "the task, as text")
  .runs(options.ASK, () => import("./commands/run/ask.ts"), "ask");

program
  .subcommand(
    "chat",
    "portcullis chat --model anthropic:claude-sonnet-4-5 --tools ./tools.js --journal portcullis.db",
    "talk with a model that may call the tools; each line of a pipe is a message",
  )
  .addHelpText(
    "after",
    "\nIn the conversation: /continue resumes calls that wait, /exit or Ctrl-D ends, Ctrl-C interrupts.",
  )
  .runs(options.CHAT, () => import("./commands/chat/chat.ts"), "chat");

program.commandsGroup("Tools:");
program
  .subcommand(
    "tools",
    "portcullis tools open orders --mcp .mcp.json",
    "list tools, and the tokens that each takes in a model's context, as JSON and as typed stubs",
  )
  .argument("[word...]", "words, to find the tools that a program would find by them")
  .runs(options.LIST_TOOLS, () => import("./commands/tools/list-tools.ts"), "runListTools");

program.commandsGroup("Serve:");
program
  .subcommand(
    "mcp",
    "portcullis mcp --tools ./tools.js --journal portcullis.db",
    "serve run_program, and the tools that may be called directly, to MCP clients: on the standard streams, or over HTTP",
  )
  .runs(options.MCP, () => import("./commands/serve/mcp.ts"), "mcp");

program
  .subcommand(
    "serve",
    "portcullis serve --tools ./tools.js --journal portcullis.db --keys keys.json",
    "serve programs over HTTP, with MCP at /mcp and a page to look at, until it is stopped",
  )
  .runs(options.SERVE, loadServe, "serve");

program
  .subcommand(
    "worker",
    "portcullis worker --tools ./tools.js --journal postgres://portcullis@db/portcullis",
    "drive programs that others submit to the same journal in PostgreSQL, until it is stopped",
  )
  .runs(options.WORKER, loadServe, "worker");

const key = program.subcommand(
  "key",
  "portcullis key add ana --keys keys.json",
  "keys of a server's clients: a file has them, and a key that is taken out of it is refused within seconds",
);
key
  .subcommand(
    "add",
    "portcullis key add ana --keys keys.json --scope run --scope read",
    "add a key, print it once, and store its SHA-256; creates the file if there is none",
  )
  .argument("<id>", "name of the key")
  .runs(options.KEY_ADD, () => import("./commands/serve/key.ts"), "keyAdd");
program.commandsGroup("Measure:");
program
  .subcommand(
    "bench",
    "portcullis bench flights",
    "measure the tokens that programs save against direct calls, without a request to a provider",
  )
  .argument("[task...]", "tasks of the package (the examples); by default all but streams, which takes minutes")
  .runs(options.BENCH, loadBench, "bench");

program.commandsGroup("Look at executions:");
program
  .subcommand(
    "show",
    "portcullis show EXECUTION --journal portcullis.db",
    "show one execution, its program, calls, decisions and outcome; or list those of a journal, the latest first",
  )
  .argument(
    "[execution]",
    "id of the execution; also the one that a client of a server has chosen; without it, the list",
  )
  .runs(options.SHOW, () => import("./commands/journal/show.ts"), "runShow");

const journal = program.subcommand(
  "journal",
  "portcullis journal export --journal portcullis.db",
  "export, import, prune or check a journal",
);
journal
  .subcommand(
    "export",
    "portcullis journal export EXECUTION --journal portcullis.db > execution.jsonl",
    "print executions as JSON lines, the oldest first",
  )
  .argument("[execution...]", "ids of executions; all by default")
  .runs(options.EXPORT, loadJournal, "exportJournal");
journal
  .subcommand(
    "import",
    "portcullis journal import execution.jsonl --skip-existing --journal portcullis.db",
    "add the executions of JSON lines, and create the journal if it does not exist",
  )
  .argument("[file]", "file of JSON lines, as export prints them, or - for standard input", "-")
  .runs(options.IMPORT, loadJournal, "importJournal");
journal
  .subcommand(
    "prune",
    "portcullis journal prune --older-than 30d --journal portcullis.db",
    "delete old executions that have ended",
  )
  .runs(options.PRUNE, loadJournal, "pruneJournal");
journal
  .subcommand("check", "portcullis journal check --journal portcullis.db", "read everything, and list what is damaged")
  .runs(options.CHECK, loadJournal, "checkJournal");

program.commandsGroup("Go on with executions:");
program
  .subcommand(
    "decide",
    "portcullis decide EXECUTION 1 --allow --by ana --journal portcullis.db",
    "allow or deny a call that waits, or say that it was done; runs nothing",
  )
  .argument("<execution>", "id of the execution")
  .argument("<call>", "id of the call")
  .runs(options.DECIDE, () => import("./commands/run/decide.ts"), "runDecide");

program
  .subcommand(
    "resume",
    "portcullis resume EXECUTION --tools ./tools.js --journal portcullis.db",
    "resume an execution that waits, or whose host died, and print its report",
  )
  .argument("[execution]", "id of the execution; without it, every execution whose host died")
  .runs(options.RESUME, () => import("./commands/run/resume.ts"), "runResume");

program.commandsGroup("Set up:");
program
  .subcommand("doctor", "portcullis doctor", "check whether this machine can run programs, and list what is missing")
  .runs(options.DOCTOR, () => import("./commands/doctor.ts"), "doctor");

program
  .subcommand("image", "portcullis image build", "the image that --sandbox docker runs programs in")
  .subcommand("build", "portcullis image build --network host", "build the image; doctor checks it")
  .runs(options.IMAGE, () => import("./commands/image.ts"), "runImageBuild");

/** Runs one command. Resolves with its exit code, and does not reject. A process runs one command at a time. */
export async function main(args: readonly string[], streams: Streams): Promise<number> {
  useStreams(streams);
  PortcullisCommand.exitCode = EXIT.completed;
  try {
    await guardWork(() => program.parseAsync(args, { from: "user" }), strayFailure);
    return PortcullisCommand.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.usage;
    const failure = failureOf(error);
    const { ran } = PortcullisCommand;
    const context = { execution: ran?.args[0], journal: ran?.opts<{ readonly journal?: string }>().journal };
    const message = PortcullisError.is(error) ? completeHint(error, context) : failure.message;
    return printFailure(new CommandFailure(failure.exitCode, message, failure));
  }
}

/** Says why a command has no result, and gives its exit code. */
export function printFailure({ message, details, exitCode }: CommandFailure): number {
  writeStderr(`portcullis: ${oneLine(message)}\n${details === "" ? "" : `${insetText(details)}\n`}`);
  return exitCode;
}
