import { nearest } from "../../option-rules/nearest.ts";
import { pathText } from "../../tools/schema.ts";
import type { Tool } from "../../tools/tool.ts";
import { pathOfTool } from "../../tools/tool-name.ts";
import { LineStarts, type Position } from "../guest/source-lines.ts";
import { LINES_BEFORE } from "./compiler.ts";
import { type DeclaredType, type Declarations, type Kind, TYPE_NAME } from "./declared-tools.ts";
import { refusesInput } from "./refuses-input.ts";

/** Something that is wrong in a program, at a position in the text that was checked. */
export interface Finding {
  /** `call`: the gate refuses the call. `field`: no result has the field. */
  readonly about: "call" | "field";
  readonly position: Position;
  /** A sentence without its subject's line: `tools.crm.find needs "id".` */
  readonly text: string;
  /** A field that a result may have although its schema does not name it. */
  readonly maybe?: string;
}

/** Names that are told of one type, and findings that are read. */
const [NAMES_TOLD, FINDINGS_READ] = [8, 20];

interface Message extends Position {
  readonly code: string;
  readonly text: string;
}

const MESSAGE = /^program\.ts\((\d+),(\d+)\): error TS(\d+): (.*)$/;
const UNKNOWN_FIELD = new RegExp(`^Property '([^']+)' does not exist on type '(.+?)'\\.`);
const EXCESS = new RegExp(`'(?:"?)([^'"]+)"?' does not exist in type '(${TYPE_NAME})'`);
const MISSING = new RegExp(`^Property '"?([^'"]+)"?' is missing in type '.*' but required in type '(${TYPE_NAME})'`);
const SEVERAL_MISSING = new RegExp(`^Type '.*' is missing the following properties from type '(${TYPE_NAME})': (.*)$`);
const OTHER_KIND = new RegExp(
  `^(?:Argument of type|Type) '(.+?)' (?:is not assignable to|has no properties in common with) (?:parameter of )?type '[a-z| ]*(${TYPE_NAME})'`,
);
const NAMED = new RegExp(`^(${TYPE_NAME})((?:\\[\\])*)$`);

/**
 * What a compiler's messages say about the tools. Messages about what is the program's own are passed over: JavaScript that
 * is right has many. Resolves with undefined if the text was not checked to its end, as one with other syntax.
 */
export async function readFindings(
  printed: string,
  program: string,
  { types }: Declarations,
): Promise<readonly Finding[] | undefined> {
  const messages: Message[] = [];
  for (const line of printed.split("\n")) {
    const [, row, column, code = "", text = ""] = MESSAGE.exec(line) ?? [];
    if (row !== undefined) messages.push({ line: Number(row) - LINES_BEFORE, column: Number(column), code, text });
    else if (line !== "" && !line.startsWith(" ")) return undefined;
  }
  // Codes below 2000 are those of the syntax.
  if (messages.some(({ code }) => code.length < 4 || code.startsWith("1"))) return undefined;
  const findings: Finding[] = [];
  const reader = new Reader(program, types, messages);
  for (const message of messages) {
    if (findings.length === FINDINGS_READ) break;
    const found = await reader.read(message);
    if (found && !findings.some(({ text }) => text === found.text))
      findings.push({ position: { line: message.line, column: message.column }, ...found });
  }
  return findings;
}

type Read = Omit<Finding, "position"> | undefined;

class Reader {
  readonly #program: string;
  readonly #starts: LineStarts;
  readonly #types: Declarations["types"];
  /** Whether a variable of the program gets values of different kinds, so that the compiler's kind of it is not certain. */
  readonly #mixesKinds: boolean;
  readonly #made: (name: string) => boolean;

  constructor(program: string, types: Declarations["types"], messages: readonly Message[]) {
    this.#program = program;
    this.#starts = new LineStarts(program);
    this.#types = types;
    this.#mixesKinds = messages.some(({ code, text }) => code === "2322" && !text.includes("$"));
    this.#made = madeFields(program);
  }

  async read({ text, ...position }: Message): Promise<Read> {
    const here = this.#program.slice(this.#starts.offsetOf(position));
    const [, field = "", holder = ""] = UNKNOWN_FIELD.exec(text) ?? [];
    if (field !== "") return this.#unknownField(field, holder, here);
    const value = here.replace(/^(?:[\w$]{1,64}|"[^"\n]{1,64}"|'[^'\n]{1,64}')\s{0,16}:\s{0,16}/, "");
    const [, excess = "", within = ""] = EXCESS.exec(text) ?? [];
    if (excess !== "") return this.#call(within, (type) => this.#excess(type, excess));
    const [, missing, lacking = ""] = MISSING.exec(text) ?? [];
    const [, lackingSeveral = "", several = ""] = SEVERAL_MISSING.exec(text) ?? [];
    if (missing !== undefined || several !== "") {
      const names = missing === undefined ? several.replace(/,? and \d+ more\.?$/, "").split(", ") : [missing];
      return isWholeLiteral(value) && !text.includes("[x: ")
        ? this.#call(lacking || lackingSeveral, (type) => this.#missing(type, names))
        : undefined;
    }
    const [, kind = "", wanted = ""] = OTHER_KIND.exec(text) ?? [];
    const given = /^(?:["'`\d[]|-\d|true\b|false\b)/.test(value) || !this.#mixesKinds ? kindOf(kind) : undefined;
    return given && this.#call(wanted, (type) => this.#otherKind(type, given));
  }

  async #call(
    name: string,
    say: (type: DeclaredType, tool: Tool) => string | Promise<string | undefined>,
  ): Promise<Read> {
    const type = this.#types.get(name);
    const text = type?.tool && (await say(type, type.tool));
    return text === undefined || text === "" ? undefined : { about: "call", text };
  }

  #unknownField(field: string, holder: string, here: string): Read {
    const named = holder.split(" | ").map((part) => NAMED.exec(part));
    const types = named.flatMap((one) => this.#types.get(one?.[1] ?? "") ?? []);
    const [type] = types;
    if (!type || types.length < named.length) return undefined;
    if (type.of === "namespace") {
      const [, called] = /^([\w$]{1,256}(?:\.[\w$]{1,256}){0,8})\s{0,16}\(/.exec(here) ?? [];
      const name = `${String(type.path[0])}${called}`;
      return called === undefined ? undefined : { about: "call", text: unknownTool(name, this.#types) };
    }
    if (type.of !== "result" || !type.tool || this.#made(field)) return undefined;
    const result = `${type.tool.stream ? "an item" : "a result"} of ${pathOfTool(type.tool.name)}`;
    const place = placeText(type.path);
    const whole = place === "" ? result : `${JSON.stringify(place)} of ${result}`;
    if (named[0]?.[2] !== "")
      return {
        about: "field",
        text: `it reads ${JSON.stringify(field)}, but ${whole.replace(/\[\]"/, '"')} is a list.`,
      };
    if (types.some(({ names }) => names.includes(field))) return undefined;
    const text = `it reads ${JSON.stringify(field)}, and ${whole} has no such field.${namesText(type, field)}`;
    return { about: "field", text, ...(types.every(({ isClosed }) => isClosed) ? {} : { maybe: field }) };
  }

  async #excess({ tool, path, kinds, of, ...type }: DeclaredType, field: string): Promise<string | undefined> {
    if (!tool) return undefined;
    if (of === "value") return this.#otherKind({ tool, path, kinds, of, ...type }, "object");
    if (!(await refusesInput(tool, path, { unknown: field }))) return undefined;
    const fields = namesText({ tool, path, kinds, of, ...type }, field);
    return `${pathOfTool(tool.name)} has no field ${JSON.stringify(placeText([...path, field]))}.${fields}`;
  }

  async #missing({ tool, path, names }: DeclaredType, given: readonly string[]): Promise<string | undefined> {
    if (!tool) return undefined;
    const missing: string[] = [];
    for (const name of given.map((one) => one.replaceAll('"', "")))
      if (names.includes(name) && (await refusesInput(tool, path, { missing: name })))
        missing.push(JSON.stringify(placeText([...path, name])));
    return missing.length === 0 ? undefined : `${pathOfTool(tool.name)} needs ${missing.join(", ")}.`;
  }

  async #otherKind({ tool, path, kinds }: DeclaredType, given: Kind): Promise<string | undefined> {
    if (!tool || kinds.includes(given) || !(await refusesInput(tool, path, { kind: given }))) return undefined;
    const subject = path.length === 0 ? "the input" : JSON.stringify(placeText(path));
    const wanted = kinds.map((kind) => WORDS[kind] ?? kind).join(" or ");
    return `${subject} of ${pathOfTool(tool.name)} has to be ${wanted}, not ${WORDS[given]}.`;
  }
}

const WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

/** The kind of all values of a type of the compiler; undefined if that is not certain. */
function kindOf(type: string): Kind | undefined {
  if (/^(?:string|"[^"|&]*")$/.test(type)) return "string";
  if (/^(?:number|-?[\d.]+(?:e[-+]?\d+)?)$/.test(type)) return "number";
  if (/^(?:boolean|true|false)$/.test(type)) return "boolean";
  return /^(?:[\w$.]+|\([^()]*\))\[\]$/.test(type) ? "array" : undefined;
}

const LITERAL_LENGTH = 2000;

/** Whether an object literal is all that there is of its fields. */
function isWholeLiteral(text: string): boolean {
  if (!text.startsWith("{")) return false;
  let depth = 0;
  for (const { 0: bracket, index } of text.slice(0, LITERAL_LENGTH).matchAll(/[{}]/g)) {
    depth += bracket === "{" ? 1 : -1;
    if (depth === 0) return !text.slice(0, index).includes("...");
  }
  return false;
}

/** Fields that a program may have given to a result itself. */
function madeFields(program: string): (name: string) => boolean {
  const made = new Set(
    program.matchAll(/\.([\w$]{1,64})\s{0,16}(?:[-+*/%&|^?<>]{0,3}=(?![=>])|\+\+|--)/g).map(([, name]) => name),
  );
  for (const [, name] of program.matchAll(/(?:\+\+|--|delete )[\w$.[\]]{1,200}\.([\w$]{1,64})/g)) made.add(name);
  const adds = /\bObject\.(?:assign|defineProperty|defineProperties)\b/.test(program);
  const named = new Set(adds ? program.matchAll(/(?<![.\w$])([\w$]{1,64})/g).map(([, name]) => name) : []);
  return (name) => made.has(name) || named.has(name);
}

function unknownTool(name: string, types: Declarations["types"]): string {
  const known = [...types.values()]
    .filter(({ of }) => of === "namespace")
    .flatMap(({ path, names }) => names.map((one) => `${String(path[0])}${one}`));
  const [meant] = nearest(name, known, 1);
  const hint = meant === undefined ? "" : ` Did you mean ${pathOfTool(meant)}?`;
  return `there is no tool ${pathOfTool(name)}.${hint}`;
}

/** `items[].price` */
function placeText(path: DeclaredType["path"]): string {
  return pathText(path).replaceAll("[0]", "[]");
}

function namesText({ names, of }: DeclaredType, wanted: string): string {
  const [meant] = nearest(wanted, names, 1);
  if (names.length === 0) return "";
  const told = names.slice(0, NAMES_TOLD).map((name) => JSON.stringify(name));
  const more = names.length > told.length ? ` and ${names.length - told.length} more` : "";
  const hint = meant === undefined ? "" : ` Did you mean ${JSON.stringify(meant)}?`;
  return ` It ${of === "input" ? "takes" : "has"} ${told.join(", ")}${more}.${hint}`;
}
