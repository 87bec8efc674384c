import type { Command, Option } from "commander";
import { program } from "../../src/cli/main.ts";
import { checkOptions, PortcullisError } from "../../src/base/index.ts";
import { RUNTIME_RULES } from "../../src/runtime/options.ts";
import { byteText } from "../../src/base/texts.ts";
import { anchorOf } from "./anchor-of.ts";
import { entriesOf, type OptionEntry, OPTIONS_OBJECTS, type OptionsObject } from "./option-tables.ts";

/*
 * docs/options.md: all options with their defaults and errors, made from the rules of the code and from the options of the
 * commands.
 */

export const PAGE = "docs/options.md";

export async function optionsPage(): Promise<string> {
  const said = new Map<string, string>();
  const sections: (readonly string[])[] = [];
  for (const [heading, members] of Object.entries(OPTIONS_OBJECTS)) {
    const section = [`## ${heading}`];
    for (const member of members) section.push(...(await partsOf(member, said)));
    sections.push(section);
  }
  const commands = commandSection();
  return `${[...head(), contentsOf([...sections, commands]), ...sections.flat(), ...commands].join("\n\n")}\n`;
}

/** An options object. Options that an earlier one has in the same words are said there: `said` has the object of each. */
async function partsOf(member: OptionsObject, said: Map<string, string>): Promise<readonly string[]> {
  const title = /^[a-z.]+\(|^limits$/i.test(member.title) ? `\`${member.title}\`` : member.title;
  const entries = (await entriesOf(member)).map((entry) => ({ ...entry, text: entryText(entry) }));
  // What is left out of a policy or a file is decided elsewhere.
  const keyOf = ({ text, ...entry }: (typeof entries)[number], bare: boolean) =>
    bare ? entryText(bareOf(entry)) : text;
  const known = Map.groupBy(entries, (entry) => said.get(keyOf(entry, member.hasOwnDefaults === true)));
  const shared = [...known].filter(([other, some]) => other !== undefined && some.length >= 1);
  const left = new Set(shared.flatMap(([, some]) => some));
  const own = entries.filter((entry) => !left.has(entry));
  for (const key of own.flatMap((entry) => [keyOf(entry, false), keyOf(entry, true)]))
    if (!said.has(key)) said.set(key, title);
  const links = shared.map(([other = "", some]) => {
    const names = some.map(({ name }) => `\`${name}\``).join(", ");
    return `As of [${other}](#${anchorOf(other)}): ${names}.`;
  });
  return [
    `### ${title}`,
    ...(member.about === undefined ? [] : [member.about]),
    ...(links.length === 0 ? [] : [links.join("\n\n")]),
    ...(own.length === 0 ? [] : [own.map(({ text }) => text).join("\n")]),
  ];
}

/** The headings of the sections, with links. */
function contentsOf(sections: readonly (readonly string[])[]): string {
  const lines = sections.map((section) => {
    const headings = section.flatMap((part) => /^#+ (.+)$/.exec(part)?.[1] ?? []);
    const [whole = "", ...parts] = headings.map(
      (heading) => `[${heading.replace("portcullis ", "")}](#${anchorOf(heading)})`,
    );
    return `- ${whole}: ${parts.join(", ")}`;
  });
  return lines.join("\n");
}

function head(): readonly string[] {
  return [
    "# All options",
    "<!-- Made by `make options` from the rules in the sources. Changes belong there. -->",
    "Every option of the package and of the command line, with its default and what it takes. An option is optional unless it says otherwise, and `undefined` counts as left out.",
    "## Errors",
    "A wrong option is refused where it is given: the function throws (an asynchronous one rejects with) a `PortcullisError` whose `code` is `option_invalid`, except where this page says otherwise. Nothing has been begun then. The message names the option, what it takes and what was given; of a secret, like a token, it tells the length alone:",
    `\`\`\`\n${[{ tools: [], leaseMs: 5 }, {}, { tools: [], leasMs: 30_000 }].map(refusal).join("\n")}\n\`\`\``,
    "What is wrong in a definition of a tool has the code `tool_invalid`, and so has a name that no tool can have; a model without a key or an SDK has `model_unavailable`. [All codes](operating.md#errors). On the command line a wrong option ends the command with exit code 2 ([exit codes](command-line.md#exit-codes)) and a sentence that names it. In a request over HTTP it is answered with the status 400.",
  ];
}

/** What `createRuntime` says of these options. */
function refusal(options: object): string {
  try {
    checkOptions("createRuntime", options, RUNTIME_RULES);
  } catch (error) {
    if (PortcullisError.is(error)) return error.message;
  }
  throw new Error("These options are refused.");
}

function entryText({ name, sentence, rule }: OptionEntry): string {
  const byDefault =
    rule.presence === "required"
      ? "required"
      : rule.presence === "default" && typeof rule.default !== "function"
        ? `default \`${literal(rule.default)}\`${inUnits(name, rule.default)}`
        : undefined;
  return `- **\`${name}\`**${byDefault === undefined ? "" : `, ${byDefault}`}: ${sentence} Takes ${escaped(rule.expected)}.`;
}

const bareOf = (entry: OptionEntry): OptionEntry => ({ ...entry, rule: { ...entry.rule, presence: "optional" } });

/** As a program would write it. */
function literal(value: unknown): string {
  if (typeof value !== "number") return JSON.stringify(value);
  return Number.isFinite(value) ? value.toLocaleString("en-US").replaceAll(",", "_") : String(value);
}

/** A large number of bytes or milliseconds, as people write it. */
function inUnits(name: string, value: unknown): string {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 1000) return "";
  if (name.endsWith("Bytes")) return ` (${byteText(value)})`;
  if (name.endsWith("Ms")) return value % 60_000 === 0 ? ` (${value / 60_000} min)` : ` (${value / 1000} s)`;
  return "";
}

/** Text that is no markup. */
const escaped = (text: string) => text.replaceAll(/[*<\\`]|(?<!\w)_|_(?!\w)/g, "\\$&");

/** How many options an object shares with another one, or commands one option, before they stand once for all. */
const SHARED = 3;

/** The options of the commands. */
function commandSection(): readonly string[] {
  const commands = commandsOf(program, []);
  const lines = commands.flatMap(({ options }) => options.map(lineOf));
  const isShared = (line: string) => lines.filter((other) => other === line).length >= SHARED;
  const shared = [...new Set(lines.filter(isShared))];
  return [
    "## The command line",
    "`portcullis COMMAND --help` says the same, with an example for each command.",
    "### Options of several commands",
    shared.join("\n"),
    ...commands.flatMap(({ usage, options }) => {
      const own = options.map(lineOf).filter((line) => !isShared(line));
      const others = options.filter((option) => isShared(lineOf(option))).map(({ long }) => `\`${long}\``);
      return [
        `### \`${usage}\``,
        ...(others.length === 0 ? [] : [`With ${others.join(", ")} ([as above](#options-of-several-commands)).`]),
        ...(own.length === 0 ? [] : [own.join("\n")]),
        ...(options.length === 0 ? ["No options."] : []),
      ];
    }),
  ];
}

interface Listed {
  readonly usage: string;
  readonly options: readonly Option[];
}

function commandsOf(command: Command, above: readonly string[]): readonly Listed[] {
  const path = [...above, command.name()];
  if (command.commands.length > 0) return command.commands.flatMap((one) => commandsOf(one, path));
  const given = command.registeredArguments.map((one) => {
    const name = `${one.name()}${one.variadic ? "…" : ""}`;
    return one.required ? name.toUpperCase() : `[${name.toUpperCase()}]`;
  });
  return [{ usage: [...path, ...given].join(" "), options: command.options.filter(({ hidden }) => !hidden) }];
}

function lineOf({ flags, description, mandatory, defaultValue }: Option): string {
  const isNone =
    defaultValue === undefined ||
    (typeof defaultValue === "object" && Object.keys(defaultValue as object).length === 0);
  const given = mandatory
    ? ", required"
    : isNone || typeof defaultValue === "boolean"
      ? ""
      : `, default \`${String(defaultValue)}\``;
  return `- \`${flags}\`${given}: ${escaped(description)}`;
}
