import { listOf, nearest, Pace, pathText } from "../../base/index.ts";
import { validate } from "../../tools/schema.ts";
import { pathOfTool } from "../../tools/tool-name.ts";
import { lineStarts, type Position } from "../guest/source-lines.ts";
import { LINES_BEFORE } from "./compiler.ts";
import { type Declarations, type DeclaredType, type DeclaredKind, TYPE_NAME } from "./declared-tools.ts";
import { inputFieldsOf, inputSchemaOf } from "../../tools/tool-schemas.ts";
import type { Tool } from "../../tools/tool.ts";

/** Something that is wrong in a program, at a position in the text that was checked. */
export interface ProgramFinding {
  /** `call`: the gate refuses the call. `field`: no result has the field. */
  readonly about: "call" | "field";
  readonly position: Position;
  readonly text: string;
  /** A field that a result may have although its schema does not name it. */
  readonly maybe?: string;
}

type Read = Omit<ProgramFinding, "position"> | undefined;

/** Names that are told of one type, findings that are read, and characters of a literal. */
const [NAMES_TOLD, FINDINGS_READ, LITERAL_LENGTH] = [8, 20, 2000];

const MESSAGE = /^program\.ts\((\d+),(\d+)\): error TS(\d+): (.{0,1000})/;
const UNKNOWN = /^Property '([^']+)' does not exist on type '(.+?)'\./;
const HOLDER = new RegExp(`^(${TYPE_NAME})((?:\\[\\])*)$`);
const EXCESS = new RegExp(`'"?([^'"]+)"?' does not exist in type '(${TYPE_NAME})'`);
const MISSING = new RegExp(
  `^(?:Property '(.+)' is missing in type '.*' but required in|Type '.*' is missing the following properties from) type '(${TYPE_NAME})'(?:: (.*?)(?:,? and \\d+ more)?)?\\.?$`,
);
const OTHER_KIND = new RegExp(
  `^(?:Argument of type|Type) '(.+?)' (?:is not assignable to|has no properties in common with) (?:parameter of )?type '[a-z| ]*(${TYPE_NAME})'`,
);
const NO_ARGUMENT = new RegExp(` method's 'this' of type '0 \\| (${TYPE_NAME})'`);
/** The result that a variable had before it got another value: what it is then is not certain. */
const TARGET = /^.* type '(\$R\d+\$)/;
const KEY = /^(?:[\w$]{1,64}|"[^"\n]{1,64}"|'[^'\n]{1,64}')\s{0,16}:\s{0,16}/;
const CALLED = /^([\w$]{1,256}(?:\.[\w$]{1,256}){0,8})\s{0,16}\(/;
const LITERAL = /^(?:["'`\d[]|-\d|true\b|false\b)/;

/**
 * What a compiler's messages say about the tools. Messages about what is the program's own are passed over: JavaScript that
 * is right has many. Resolves with undefined if the text was not checked to its end, as one with other syntax.
 */
export async function readFindings(
  printed: string,
  program: string,
  { types }: Declarations,
  signal: AbortSignal,
): Promise<readonly ProgramFinding[] | undefined> {
  const lines = printed.split("\n").filter((line) => line !== "" && !line.startsWith(" "));
  const messages = lines.flatMap((line) => {
    const [, row, column, code = "", text = ""] = MESSAGE.exec(line) ?? [];
    return row === undefined ? [] : { line: Number(row) - LINES_BEFORE, column: Number(column), code, text };
  });
  // If its syntax is wrong, nothing else is told. Codes of the syntax are those from 1000 to 1999.
  const isChecked = lines.length === 0 || messages.some(({ code }) => !/^1\d{3}$/.test(code));
  if (!isChecked || messages.length < lines.length) return undefined;
  const starts = lineStarts(program);
  const placed = messages.map((message) => ({ ...message, here: program.slice(starts.offsetOf(message)) }));
  const asked = new Set(placed.filter(({ here }) => !CALLED.test(here)).map(({ text }) => text));
  const unsure = new Set(
    messages.map(({ code, text }) => (/^(?:2322|27\d\d)$/.test(code) ? TARGET.exec(text)?.[1] : "")),
  );
  const mixesKinds = messages.some(isOwnMixture);
  const reading = { types, mixesKinds, asked, unsure, isMade: madeFields(program) };
  const findings: ProgramFinding[] = [];
  // Thousands of messages may come to one finding, each after a millisecond.
  const pace = new Pace();
  for (const { line, column, text, here } of placed) {
    await pace.rest();
    if (signal.aborted) return undefined;
    const found = await readMessage(reading, text, here);
    if (found && !findings.some((one) => one.text === found.text))
      findings.push({ position: { line, column }, ...found });
    if (findings.length === FINDINGS_READ) break;
  }
  return findings;
}

/** Whether a variable of the program gets values of different kinds, so that the compiler's kind of it is not certain. */
function isOwnMixture({ code, text }: { readonly code: string; readonly text: string }): boolean {
  return code === "2322" && !text.includes("$");
}

interface Reading {
  readonly types: Declarations["types"];
  readonly mixesKinds: boolean;
  /** Messages of names that the program asks for somewhere without a call, as `if (tools.find)` does. */
  readonly asked: ReadonlySet<string>;
  readonly unsure: ReadonlySet<string | undefined>;
  readonly isMade: (field: string) => boolean;
}

/** `here` is the program from the message's position on. */
async function readMessage(reading: Reading, message: string, here: string): Promise<Read> {
  const { types, mixesKinds, asked } = reading;
  const [, field, holder = ""] = UNKNOWN.exec(message) ?? [];
  if (field !== undefined) return unknownField(reading, field, holder, asked.has(message) ? "" : here);
  const value = here.replace(KEY, "");
  const [, excess, within = ""] = EXCESS.exec(message) ?? [];
  const [, one, lacking = "", several = ""] = MISSING.exec(message) ?? [];
  const [, type = "", wanted = ""] = OTHER_KIND.exec(message) ?? [];
  const called = types.get(NO_ARGUMENT.exec(message)?.[1] ?? "");
  if (called) return withoutArgument(called);
  const names = (one ?? several).replaceAll('"', "").split(", ");
  const isMissing = lacking !== "" && isWholeLiteral(value) && !message.includes("[x: ");
  const kind = LITERAL.test(value) || !mixesKinds ? kindOf(type) : undefined;
  const text =
    excess !== undefined
      ? await refusedField(types.get(within), excess)
      : isMissing
        ? await missingFields(types.get(lacking), names)
        : await otherKind(types.get(wanted), kind);
  return text === undefined ? undefined : { about: "call", text };
}

function unknownField(
  { types: typesByName, unsure, isMade }: Reading,
  field: string,
  holder: string,
  here: string,
): Read {
  const holders = holder.split(" | ").map((part) => HOLDER.exec(part) ?? []);
  const types = holders.flatMap(([, name = ""]) => (unsure.has(name) ? [] : (typesByName.get(name) ?? [])));
  const [type] = types;
  if (!type || types.length < holders.length) return undefined;
  if (type.of === "namespace") return unknownTool(typesByName, String(type.path[0]), here);
  if (!type.tool || type.of !== "result" || isMade(field)) return undefined;
  const isList = holders[0]?.[2] !== "";
  if (!isList && types.some(({ names }) => names.includes(field))) return undefined;
  const path = placeText(isList ? type.path.slice(0, -1) : type.path);
  const result = `${type.tool.stream ? "an item" : "a result"} of ${pathOfTool(type.tool.name)}`;
  const whole = path === "" ? result : `${JSON.stringify(path)} of ${result}`;
  const says = isList ? "is a list." : `has no such field.${namesText(type, field)}`;
  const text = `it reads ${JSON.stringify(field)}, ${isList ? "but" : "and"} ${whole} ${says}`;
  return { about: "field", text, maybe: isList || types.every(({ isClosed }) => isClosed) ? undefined : field };
}

/** A tool that a program asks for may be missing, and its calls stand where it is there. */
function unknownTool(types: Declarations["types"], prefix: string, here: string): Read {
  const [, called] = CALLED.exec(here) ?? [];
  if (called === undefined) return undefined;
  const spaces = [...types.values()].filter(({ of }) => of === "namespace");
  const toolNames = spaces.flatMap(({ path, names }) => names.map((name) => `${String(path[0])}${name}`));
  const [meant] = nearest(prefix + called, toolNames, 1);
  const hint = meant === undefined ? "" : ` Did you mean ${pathOfTool(meant)}?`;
  return { about: "call", text: `there is no tool ${pathOfTool(prefix + called)}.${hint}` };
}

async function refusedField(type: DeclaredType | undefined, field: string): Promise<string | undefined> {
  if (type?.of === "value") return otherKind(type, "object");
  if (!type?.tool || !(await refusesInput(type.tool, type.path, { unknown: field }))) return undefined;
  const name = JSON.stringify(placeText([...type.path, field]));
  return `${pathOfTool(type.tool.name)} has no field ${name}.${namesText(type, field)}`;
}

async function missingFields(type: DeclaredType | undefined, names: readonly string[]): Promise<string | undefined> {
  const missing: string[] = [];
  for (const name of names)
    if (type?.tool && type.names.includes(name) && (await refusesInput(type.tool, type.path, { missing: name })))
      missing.push(JSON.stringify(placeText([...type.path, name])));
  return missing.length === 0 ? undefined : `${pathOfTool(type?.tool?.name ?? "")} needs ${missing.join(", ")}.`;
}

/** Required fields that are told: each is looked for by a check of an input, which tells of all that are missing. */
const REQUIRED_TOLD = 20;

/** A call that says nothing, of a tool that has to be told something. */
async function withoutArgument(type: DeclaredType): Promise<Read> {
  const required = type.tool ? listOf(inputSchemaOf(type.tool), "required") : [];
  const missing = await missingFields(type, required.slice(0, REQUIRED_TOLD).map(String));
  return missing === undefined ? undefined : { about: "call", text: `${missing}${namesText(type, "")}` };
}

async function otherKind(
  type: DeclaredType | undefined,
  valueKind: DeclaredKind | undefined,
): Promise<string | undefined> {
  if (!type?.tool || !valueKind || type.kinds.includes(valueKind)) return undefined;
  if (!(await refusesInput(type.tool, type.path, { kind: valueKind }))) return undefined;
  const subject = type.path.length === 0 ? "the input" : JSON.stringify(placeText(type.path));
  const wanted = type.kinds.map((kind) => WORDS[kind] ?? kind).join(" or ");
  return `${subject} of ${pathOfTool(type.tool.name)} has to be ${wanted}, not ${WORDS[valueKind]}.`;
}

const WORDS: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "an object",
};

/** The kind of all values of a type of the compiler; undefined if that is not certain. */
function kindOf(type: string): DeclaredKind | undefined {
  if (/^(?:string|"[^"|&]*")$/.test(type)) return "string";
  if (/^(?:number|-?[\d.]+(?:e[-+]?\d+)?)$/.test(type)) return "number";
  if (/^(?:boolean|true|false)$/.test(type)) return "boolean";
  return /^(?:[\w$.]+|\([^()]*\))\[\]$/.test(type) ? "array" : undefined;
}

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

/** Which fields a program may have given to a result itself. */
function madeFields(program: string): (field: string) => boolean {
  const names = (pattern: RegExp) => program.matchAll(pattern).map(([, name]) => name);
  const adds = /\bObject\.(?:assign|define)/.test(program);
  const fieldNames = new Set([
    ...names(/\.([\w$]{1,64})\s{0,16}(?:[-+*/%&|^?<>]{0,3}=(?![=>])|\+\+|--)/g),
    ...names(/(?:\+\+|--|delete )[\w$.[\]]{1,200}\.([\w$]{1,64})/g),
    ...(adds ? names(/(?<![.\w$])([\w$]{1,64})/g) : []),
  ]);
  return (field) => fieldNames.has(field);
}

/** `items[].price` */
function placeText(path: DeclaredType["path"]): string {
  return pathText(path).replaceAll("[0]", "[]");
}

function namesText({ names, of }: DeclaredType, wanted: string): string {
  if (names.length === 0) return "";
  const [meant] = nearest(wanted, names, 1);
  const list = names.slice(0, NAMES_TOLD).map((name) => JSON.stringify(name));
  const more = names.length > list.length ? ` and ${names.length - list.length} more` : "";
  const hint = meant === undefined ? "" : ` Did you mean ${JSON.stringify(meant)}?`;
  return ` It ${of === "input" ? "takes" : "has"} ${list.join(", ")}${more}.${hint}`;
}

type Fault = { readonly unknown: string } | { readonly missing: string } | { readonly kind: DeclaredKind };

/** Values of each kind. Schemas of libraries may take some of a kind that they do not name: `z.coerce.number()` takes `"1"`. */
const SAMPLES: Readonly<Record<DeclaredKind, readonly unknown[]>> = {
  string: ["", "1", "true", "text", "2026-01-31", "2026-01-31T10:00:00Z", "[]", "{}"],
  number: [0, 1, 1.5, -1],
  boolean: [true, false],
  array: [[], [1], ["text"]],
  object: [{}],
};

/**
 * Whether the tool's own schema refuses each input with this fault, as the gate will ask it: the declarations say what its
 * JSON Schema says, and a schema of a library may take more.
 */
async function refusesInput(tool: Tool, path: DeclaredType["path"], fault: Fault): Promise<boolean> {
  try {
    if ("unknown" in fault) {
      const fields = inputFieldsOf(tool, inputAt(path, { [fault.unknown]: 1 }));
      return fields?.unknown.some((one) => one.path.at(-1) === fault.unknown) ?? false;
    }
    const isMissing = "missing" in fault;
    const place = pathText(isMissing ? [...path, fault.missing] : path);
    for (const sample of isMissing ? [{}] : SAMPLES[fault.kind]) {
      const validated = await validate(tool.inputSchema, inputAt(path, sample));
      const isRefused = !validated.ok && validated.issues.some((issue) => isAbout(issue, place, fault));
      if (!isRefused) return false;
    }
    return true;
  } catch {
    // The gate will say what is wrong with it.
    return false;
  }
}

/** A schema may tell of a missing field at the object that lacks it. */
function isAbout(issue: { readonly path: string; readonly message: string }, place: string, fault: Fault): boolean {
  if (issue.path === place) return true;
  return "missing" in fault && place.startsWith(issue.path) && issue.message.includes(fault.missing);
}

function inputAt(path: DeclaredType["path"], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => (typeof key === "number" ? [inner] : { [key]: inner }), value);
}
