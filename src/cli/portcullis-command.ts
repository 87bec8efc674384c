import { Command, Help, type Option } from "commander";
import { EXIT } from "./failure.ts";
import { type CommandOptions, optionsOf, type OptionTable } from "./option.ts";

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

  /** A command, with an example as it is typed and with what it does. Its own help has both, and the list of commands. */
  subcommand(name: string, example: string, description: string): PortcullisCommand {
    const command = this.command(name).description(description).addHelpText("after", `\nExample:\n  ${example}`);
    command.exampleText = example;
    return command;
  }

  /** The function of this name in the module gets the command's arguments and the values of the options, and resolves with the exit code; with none if the command has completed. */
  runs<Table extends OptionTable, Module>(
    table: Table,
    load: () => Promise<Module>,
    name: NameOfWork<Module, CommandOptions<Table>>,
  ): this {
    for (const option of optionsOf(table)) this.addOption(option);
    return this.action(async () => {
      PortcullisCommand.ran = this;
      const work = (await load())[name] as (...args: unknown[]) => unknown;
      const code = await work(...this.processedArgs, this.opts());
      PortcullisCommand.exitCode = (code as number | undefined) ?? EXIT.completed;
    });
  }
}

/** Names of the functions of a module that take arguments, and these options last. */
type NameOfWork<Module, Input> = {
  [Name in keyof Module]: Module[Name] extends (...args: infer All) => number | void | Promise<number | void>
    ? All extends [...unknown[], infer Last]
      ? Input extends Last
        ? Name
        : never
      : never
    : never;
}[keyof Module];

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
