import { basename } from "node:path";
import { isTexts, PortcullisError } from "../../base/index.ts";
import type { ModelName } from "../../models/model-name.ts";
import { INHERIT } from "../as-tools/agent-as-tool.ts";
import { type AgentFile, COMMAND_FIELDS, readAgentFile } from "./agent-file.ts";

/** Longest text of arguments, in UTF-16 code units. */
const ARGUMENTS_LENGTH = 1024 * 1024;
/** Longest text with its arguments filled in: an argument may be named in many places. */
const TASK_LENGTH = 2 * ARGUMENTS_LENGTH;
/** A place, or one that a backslash makes a text. */
const PLACE = /\\?\$(?:(?<all>ARGUMENTS\b)|(?<number>[1-9]\d?))/g;

/** A task from a file, with its arguments filled in. */
export interface Command {
  /** By default the name of the file. */
  readonly name: string;
  readonly description?: string;
  /** For people: which arguments it takes. */
  readonly argumentHint?: string;
  /** Names of tools, as `tools` of `runtime.agent` takes them; all tools if it is missing. */
  readonly tools?: readonly string[];
  readonly model?: ModelName;
  readonly task: string;
}

/**
 * Reads a task from a Markdown file. `$ARGUMENTS` in its text stands for the arguments as they are given, `$1` and further for
 * one of them, with white space between. What is filled in is not filled again. `\$1` is a text, and so is a number beyond the
 * arguments if the text lacks one before it: `$5` is a price then. Rejects with `option_invalid`, with file and line, for a file
 * that cannot be read, a place without an argument, and arguments without a place.
 */
export async function loadCommand(file: string, args: string | readonly string[] = ""): Promise<Command> {
  const { list, text } = argumentsOf(args);
  const read = await readAgentFile(file, COMMAND_FIELDS);
  const description = read.field("description");
  const argumentHint = read.field("argument-hint");
  const tools = toolsOf(read);
  const model = read.modelFrom();
  if (model === INHERIT || typeof model === "object")
    throw read.at("model", `a command has no conversation to inherit a model from: name one, or leave the field out.`);
  return {
    name: read.field("name") ?? basename(file).replace(/\.md$/, ""),
    ...(description === undefined ? {} : { description }),
    ...(argumentHint === undefined ? {} : { argumentHint }),
    ...(tools === undefined ? {} : { tools }),
    ...(model === undefined ? {} : { model }),
    task: filled(read, list, text),
  };
}

/** The tools in either field. A scope would bound a tool's inputs, and must not be lost. */
function toolsOf(file: AgentFile): readonly string[] | undefined {
  const allowed = file.toolNames("allowed-tools");
  if (allowed && file.toolNames()) throw file.at("allowed-tools", "it says what tools says: leave one of them out.");
  const scoped = allowed?.find((name) => name.includes("("));
  if (scoped !== undefined)
    throw file.at(
      "allowed-tools",
      `${JSON.stringify(scoped.slice(0, 200))} has a scope, which no name of a tool has: write the name alone, and let a policy bound its calls.`,
    );
  return allowed ?? file.toolNames();
}

function filled(file: AgentFile, list: readonly string[], text: string): string {
  const source = file.requiredText("what is to be done");
  const used = new Set<number>();
  let isAllUsed = list.length === 0;
  let length = source.length;
  const places = new Set(Array.from(source.matchAll(PLACE), ([place]) => place));
  let missing = 1;
  while (places.has(`$${missing}`)) missing += 1;
  const task = source.replaceAll(PLACE, (place, all: string | undefined, number: string, offset: number) => {
    if (place.startsWith("\\")) return place.slice(1);
    if (all === undefined && Number(number) > list.length && Number(number) > missing) return place;
    if (all === undefined) used.add(Number(number));
    else isAllUsed = true;
    const given = all === undefined ? list[Number(number) - 1] : text;
    if (given === undefined)
      throw file.inText(
        offset,
        `${place} has no argument: ${list.length} ${list.length === 1 ? "was" : "were"} given. For the text ${place}, write \\${place}.`,
      );
    length += given.length - place.length;
    if (length > TASK_LENGTH)
      throw file.inText(offset, `filled in here, the text has more than ${TASK_LENGTH} characters.`);
    return given;
  });
  const unused = isAllUsed ? 0 : list.findIndex((_, index) => !used.has(index + 1)) + 1;
  if (unused > 0)
    throw file.inText(
      0,
      `the text has no place for argument ${unused} of ${list.length}: write $ARGUMENTS or $${unused} there.`,
    );
  return task;
}

function argumentsOf(args: unknown): { readonly list: readonly string[]; readonly text: string } {
  const isList = isTexts(args);
  const text = isList ? args.join(" ") : args;
  if (typeof text !== "string" || text.length > ARGUMENTS_LENGTH)
    throw new PortcullisError(
      "option_invalid",
      `loadCommand(file, args): expected a text, or an array of texts, of up to ${ARGUMENTS_LENGTH} characters.`,
    );
  return { list: isList ? args : text.split(/\s+/).filter((word) => word !== ""), text: text.trim() };
}
