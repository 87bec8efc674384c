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

program.commandsGroup("Start:");
program
  .command("init")
  .example("portcullis init my-tools")
  .description("write a folder to start from: tools, a program that calls them, and its task; overwrites nothing")
  .argument("[folder]", "folder to write to, which is made if there is none", ".")
  .runs(options.INIT, () => import("./commands/init/init.ts"), "init");

program
  .command("demo")
  .example("portcullis demo flights")
  .description("run the examples on real data and check their answers")
  .argument("[example...]", "any folder of examples/ (default: flights and licenses)")
  .runs(options.DEMO, () => import("./commands/measure/bench.ts"), "demo");

program.commandsGroup("Run programs:");
program
  .command("run")
  .example("portcullis run program.js --tools ./tools.js")
  .description("run a program and print the result as a model would read it")
  .argument("<program>", "file with the program's source, or - for standard input")
  .runs(options.RUN, () => import("./commands/run/run.ts"), "run");

program
  .command("ask")
  .example('portcullis ask "Which order is late?" --model anthropic:claude-sonnet-4-5 --tools ./tools.js')
  .description("give a task to a model that may call the tools")
  .argument("<task>", "the task, as text")
  .runs(options.ASK, () => import("./commands/run/ask.ts"), "ask");

program
  .command("chat")
  .example("portcullis chat --model anthropic:claude-sonnet-4-5 --tools ./tools.js --journal portcullis.db")
  .description("talk with a model that may call the tools; each line of a pipe is a message")
  .addHelpText(
    "after",
    "\nIn the conversation: /continue resumes calls that wait, /exit or Ctrl-D ends, Ctrl-C interrupts.",
  )
  .runs(options.CHAT, () => import("./commands/chat/chat.ts"), "chat");

program.commandsGroup("Tools:");
program
  .command("tools")
  .example("portcullis tools open orders --mcp .mcp.json")
  .description("list tools, and the tokens that each takes in a model's context, as JSON and as typed stubs")
  .argument("[word...]", "words, to find the tools that a program would find by them")
  .runs(options.LIST_TOOLS, () => import("./commands/tools/list-tools.ts"), "runListTools");

program.commandsGroup("Serve:");
program
  .command("mcp")
  .example("portcullis mcp --tools ./tools.js --journal portcullis.db")
  .description(
    "serve run_program, and the tools that may be called directly, to MCP clients: on the standard streams, or over HTTP",
  )
  .runs(options.MCP, () => import("./commands/serve/mcp.ts"), "mcp");

program
  .command("serve")
  .example("portcullis serve --tools ./tools.js --journal portcullis.db --keys keys.json")
  .description("serve programs over HTTP, with MCP at /mcp and a page to look at, until it is stopped")
  .runs(options.SERVE, () => import("./commands/serve/serve.ts"), "serve");

program
  .command("worker")
  .example("portcullis worker --tools ./tools.js --journal postgres://portcullis@db/portcullis")
  .description("drive programs that others submit to the same journal in PostgreSQL, until it is stopped")
  .runs(options.WORKER, () => import("./commands/serve/serve.ts"), "worker");

const key = program
  .command("key")
  .example("portcullis key add ana --keys keys.json")
  .description(
    "keys of a server's clients: a file has them, and a key that is taken out of it is refused within seconds",
  );
key
  .command("add")
  .example("portcullis key add ana --keys keys.json --scope run --scope read")
  .description("add a key, print it once, and store its SHA-256; creates the file if there is none")
  .argument("<id>", "name of the key")
  .runs(options.KEY_ADD, () => import("./commands/serve/key.ts"), "keyAdd");
program.commandsGroup("Measure:");
program
  .command("bench")
  .example("portcullis bench flights")
  .description("measure the tokens that programs save against direct calls, without a request to a provider")
  .argument("[task...]", "tasks of the package (the examples); by default all but streams, which takes minutes")
  .runs(options.BENCH, () => import("./commands/measure/bench.ts"), "bench");

program.commandsGroup("Look at executions:");
program
  .command("show")
  .example("portcullis show EXECUTION --journal portcullis.db")
  .description(
    "show one execution, its program, calls, decisions and outcome; or list those of a journal, the latest first",
  )
  .argument(
    "[execution]",
    "id of the execution; also the one that a client of a server has chosen; without it, the list",
  )
  .runs(options.SHOW, () => import("./commands/journal/show.ts"), "runShow");

const journal = program
  .command("journal")
  .example("portcullis journal export --journal portcullis.db")
  .description("export, import, prune or check a journal");
journal
  .command("export")
  .example("portcullis journal export EXECUTION --journal portcullis.db > execution.jsonl")
  .description("print executions as JSON lines, the oldest first")
  .argument("[execution...]", "ids of executions; all by default")
  .runs(options.EXPORT, () => import("./commands/journal/journal.ts"), "exportJournal");
journal
  .command("import")
  .example("portcullis journal import execution.jsonl --skip-existing --journal portcullis.db")
  .description("add the executions of JSON lines, and create the journal if it does not exist")
  .argument("[file]", "file of JSON lines, as export prints them, or - for standard input", "-")
  .runs(options.IMPORT, () => import("./commands/journal/journal.ts"), "importJournal");
journal
  .command("prune")
  .example("portcullis journal prune --older-than 30d --journal portcullis.db")
  .description("delete old executions that have ended")
  .runs(options.PRUNE, () => import("./commands/journal/journal.ts"), "pruneJournal");
journal
  .command("check")
  .example("portcullis journal check --journal portcullis.db")
  .description("read everything, and list what is damaged")
  .runs(options.CHECK, () => import("./commands/journal/journal.ts"), "checkJournal");

program.commandsGroup("Go on with executions:");
program
  .command("decide")
  .example("portcullis decide EXECUTION 1 --allow --by ana --journal portcullis.db")
  .description("allow or deny a call that waits, or say that it was done; runs nothing")
  .argument("<execution>", "id of the execution")
  .argument("<call>", "id of the call")
  .runs(options.DECIDE, () => import("./commands/run/decide.ts"), "runDecide");

program
  .command("resume")
  .example("portcullis resume EXECUTION --tools ./tools.js --journal portcullis.db")
  .description("resume an execution that waits, or whose host died, and print its report")
  .argument("[execution]", "id of the execution; without it, every execution whose host died")
  .runs(options.RESUME, () => import("./commands/run/resume.ts"), "runResume");

program.commandsGroup("Set up:");
program
  .command("doctor")
  .example("portcullis doctor")
  .description("check whether this machine can run programs, and list what is missing")
  .runs(options.DOCTOR, () => import("./commands/doctor.ts"), "doctor");

program
  .command("image")
  .example("portcullis image build")
  .description("the image that --sandbox docker runs programs in")
  .command("build")
  .example("portcullis image build --network host")
  .description("build the image; doctor checks it")
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
    const given = { execution: ran?.args[0], journal: ran?.opts<{ readonly journal?: string }>().journal };
    const message = PortcullisError.is(error) ? completeHint(error, given) : failure.message;
    return printFailure(new CommandFailure(failure.exitCode, message, failure));
  }
}

/** Says why a command has no result, and gives its exit code. */
export function printFailure({ message, details, exitCode }: CommandFailure): number {
  writeStderr(`portcullis: ${oneLine(message)}\n${details === "" ? "" : `${insetText(details)}\n`}`);
  return exitCode;
}
