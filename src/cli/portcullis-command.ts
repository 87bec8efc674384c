import { Command, Help, type Option, type ParseOptionsResult } from "commander";
import { didYouMean } from "../base/index.ts";
import { EXIT } from "./failure.ts";
import { oneLine } from "./terminal/standard-streams.ts";
import { type CommandOptions, optionsOf, type OptionTable } from "./option.ts";

type Arguments = Parameters<Parameters<Command["action"]>[0]>;

/** What an example begins with in the list of commands. */
const PROMPT = "$ ";

/** A command with its options from a table, and with an example of its use. */
export class PortcullisCommand extends Command {
  /** How the last command has ended. A process runs one command at a time. */
  static exitCode: number = EXIT.completed;
  static ran: PortcullisCommand | undefined;
  exampleText = "";

  override createCommand(name: string): PortcullisCommand {
    return new PortcullisCommand(name);
  }

  override createHelp(): Help {
    return new HelpWithExamples();
  }

  /** A command as it is typed. Its own help has it, and the list of commands. */
  example(command: string): this {
    this.exampleText = command;
    return this.addHelpText("after", `\nExample:\n  ${command}`);
  }

  /** What is loaded gets the command's arguments and the values of the options, and resolves with the exit code. */
  runs<Table extends OptionTable, Args extends Arguments>(
    table: Table,
    load: () => Promise<(...given: [...Args, CommandOptions<Table>]) => number | Promise<number>>,
  ): this {
    for (const option of optionsOf(table)) this.addOption(option);
    return this.action(async () => {
      PortcullisCommand.ran = this;
      const work = await load();
      PortcullisCommand.exitCode = await work(...(this.processedArgs as Args), this.opts<CommandOptions<Table>>());
    });
  }

  /** Help comes before values of options are read: it says what they may be. `help NAME…` is `NAME… --help`. */
  override parseOptions(args: string[]): ParseOptionsResult {
    const end = args.indexOf("--");
    const own = end < 0 ? args : args.slice(0, end);
    const names = own.filter((arg) => !arg.startsWith("-"));
    if (names[0] === "help" && this.parent === null) this.#commandAt(names.slice(1)).help();
    if (own.some((arg) => arg === "--help" || arg === "-h")) this.#commandAt(names).help();
    return super.parseOptions(args);
  }

  /** The command below this one with these names. What follows the name of a command without others is an argument. */
  #commandAt([name, ...names]: readonly string[]): Command {
    if (name === undefined || this.commands.length === 0) return this;
    const found = this.commands.find((one) => one.name() === name);
    if (found instanceof PortcullisCommand) return found.#commandAt(names);
    const known = this.commands.map((one) => one.name());
    const hint = didYouMean(name, known).trim();
    return this.error(`error: unknown command '${oneLine(name)}'${hint === "" ? "" : `\n(${hint})`}`, {
      code: "commander.unknownCommand",
    });
  }
}

class HelpWithExamples extends Help {
  /** The name alone: the command's own help has its arguments and options. */
  override subcommandTerm(command: Command): string {
    return command.name();
  }

  override subcommandDescription(command: Command): string {
    const example = command instanceof PortcullisCommand ? command.exampleText : "";
    return `${super.subcommandDescription(command)}${example === "" ? "" : `\n${PROMPT}${example}`}`;
  }

  /** Lists and records are empty by default; the description of their option says so. */
  override optionDescription(option: Option): string {
    const value: unknown = option.defaultValue;
    const isEmpty = typeof value === "object" && value !== null && Object.keys(value).length === 0;
    return isEmpty ? option.description : super.optionDescription(option);
  }

  /** An example stays in one line, so that it can be copied. */
  override boxWrap(text: string, width: number): string {
    return text
      .split("\n")
      .map((line) => (line.startsWith(PROMPT) ? line : super.boxWrap(line, width)))
      .join("\n");
  }
}
