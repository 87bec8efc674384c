import { oneOf, type OptionsOf, readOptions, wholeNumber, withDefault } from "../../base/index.ts";
import { hasAtMostTokens } from "../count-tokens.ts";
import { commentLine } from "./one-line.ts";
import { observedText, shownOutput } from "../observed/shown-output.ts";
import { needsApprovalAlways, type Tool } from "../tool.ts";
import { isIdentifier } from "../tool-name.ts";
import { inputJson } from "../tool-schemas.ts";
import { PYTHON, type TypeNotation, TYPESCRIPT } from "./type-notation.ts";
import { typedFields, typeText, type TypeTextOptions } from "./type-text.ts";

export type ProgramLanguage = "javascript" | "python";

export const DECLARATION_RULES = {
  /** Language of the programs, JavaScript by default. Declarations for JavaScript are in TypeScript. */
  language: withDefault(oneOf(["javascript", "python"]), "javascript"),
  /** Maximum tokens of the declarations; 4,000 by default. */
  budgetTokens: wholeNumber({ min: 1, default: 4000 }),
};

export type DeclarationOptions = OptionsOf<typeof DECLARATION_RULES>;

interface Detail extends TypeDetail {
  readonly toolDescription: number;
  /** First line of the declarations, if something was left out. */
  readonly leftOut?: string;
}

/** From full detail to the minimum that a program needs for a call. The first that fits the budget is used. */
const DETAILS: readonly Detail[] = [
  { toolDescription: 1000, descriptionLength: 200, constraints: true, depth: 8 },
  {
    toolDescription: 160,
    descriptionLength: 60,
    constraints: true,
    depth: 8,
    leftOut: "Descriptions are shortened.",
  },
  {
    toolDescription: 80,
    descriptionLength: 0,
    constraints: true,
    depth: 8,
    leftOut: "Descriptions are shortened; those of fields are left out.",
  },
  {
    toolDescription: 60,
    descriptionLength: 0,
    constraints: false,
    depth: 2,
    leftOut: "Descriptions are shortened; bounds of fields and deeper parts of types are left out.",
  },
  {
    toolDescription: 0,
    descriptionLength: 0,
    constraints: false,
    depth: 1,
    leftOut: "Descriptions and parts of types are left out.",
  },
];

/** Typed declarations, a line a tool. Beyond the budget all tools lose detail alike, and the first line says so. */
export function declareTools(tools: readonly Tool[], options: DeclarationOptions = {}): string {
  const { language, budgetTokens } = readOptions("declarations", options, DECLARATION_RULES);
  const form = FORMS[language];
  const fits = (text: string) => hasAtMostTokens(text, budgetTokens);
  return firstThatFits(tools, form, DETAILS, fits) ?? namesOnly(tools, form, budgetTokens);
}

const WITH_WHOLE_TYPES = DETAILS.slice(0, 3);

/** Declarations with whole types, their descriptions shortened if need be: the first that fit, or undefined. */
export function declareWholeTypes(
  tools: readonly Tool[],
  language: ProgramLanguage,
  fits: (text: string) => boolean,
): string | undefined {
  return firstThatFits(tools, FORMS[language], WITH_WHOLE_TYPES, fits);
}

/** Maximum characters of a stub with details. */
const STUB_LENGTH = 1200;
const stubs = { javascript: new WeakMap<Tool, string>(), python: new WeakMap<Tool, string>() };

/** The declaration of one tool without its description, in the most detail in which it is short enough. */
export function toolStub(tool: Tool, language: ProgramLanguage): string {
  const stub = stubs[language].get(tool) ?? shortStub(tool, FORMS[language]);
  stubs[language].set(tool, stub);
  return stub;
}

function shortStub(tool: Tool, form: Form): string {
  for (const detail of DETAILS) {
    const stub = declare(tool, form, { ...detail, toolDescription: 0 });
    if (stub.length <= STUB_LENGTH) return stub;
  }
  return form.bareSignature(tool);
}

/** The declarations in the first of these details in which they fit; undefined if they fit in none. */
function firstThatFits(
  tools: readonly Tool[],
  form: Form,
  details: readonly Detail[],
  fits: (text: string) => boolean,
): string | undefined {
  // If not even the names fit, no type is read.
  if (!fits(tools.map((tool) => form.bareSignature(tool)).join("\n"))) return undefined;
  for (const detail of details) {
    const text = declareWhileFits(tools, form, detail, fits);
    if (text !== undefined) return text;
  }
  return undefined;
}

/** Characters of declarations before it is first asked whether they fit. */
const FIRST_CHECK = 4096;

/**
 * The declarations in one detail; undefined if they do not fit. Their length is checked whenever it has doubled, so
 * that the text written in vain is bounded by the budget, and not by the number of tools.
 */
function declareWhileFits(
  tools: readonly Tool[],
  form: Form,
  detail: Detail,
  fits: (text: string) => boolean,
): string | undefined {
  const lines: string[] = [];
  let length = 0;
  let next = FIRST_CHECK;
  for (const tool of tools) {
    const line = declare(tool, form, detail);
    lines.push(line);
    length += line.length;
    if (length < next) continue;
    if (!fits(joinLines(form, detail.leftOut, lines))) return undefined;
    next = 2 * length;
  }
  const text = joinLines(form, detail.leftOut, lines);
  return fits(text) ? text : undefined;
}

interface Form {
  readonly comment: string;
  readonly signature: (tool: Tool, detail: TypeDetail) => string;
  readonly bareSignature: (tool: Tool) => string;
}

type TypeDetail = Omit<TypeTextOptions, "notation">;

const FORMS: Readonly<Record<ProgramLanguage, Form>> = {
  javascript: {
    comment: "//",
    signature(tool, detail) {
      const input = typeText(inputJson(tool), detail);
      return `tools.${tool.name}(input: ${input}): ${answerType(tool)}<${resultText(tool, detail, TYPESCRIPT)}>`;
    },
    bareSignature: (tool) => `tools.${tool.name}(input)${tool.stream ? `: ${answerType(tool)}` : ""}`,
  },
  python: {
    comment: "#",
    signature(tool, detail) {
      const parameters = pythonParameters(tool, { ...detail, notation: PYTHON });
      const result = resultText(tool, detail, PYTHON);
      return `${pythonCall(tool)}(${parameters}) -> ${tool.stream ? `AsyncIterator[${result}]` : result}`;
    },
    bareSignature: (tool) => `${pythonCall(tool)}(...)${tool.stream ? " -> AsyncIterator" : ""}`,
  },
};

/** Python keywords. Tools and fields may have these names, because JavaScript programs can write them. */
const PYTHON_KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

function isPythonName(name: string): boolean {
  return /^[A-Za-z_]\w*$/.test(name) && !PYTHON_KEYWORDS.has(name);
}

/** A letter beyond the first plane may be newer than the Python of a guest. */
function isPythonPart(name: string): boolean {
  return isIdentifier(name) && /^[\0-\uffff]*$/u.test(name) && !PYTHON_KEYWORDS.has(name);
}

function pythonPath(name: string): string {
  return name.split(".").every(isPythonPart) ? `tools.${name}` : `tools[${JSON.stringify(name)}]`;
}

/** What a call gives in TypeScript: the promise of a result, or a stream of items. */
function answerType({ stream }: Tool): "Promise" | "AsyncIterable" {
  return stream ? "AsyncIterable" : "Promise";
}

/** A call in Python up to its arguments. A stream is read, and not awaited. */
function pythonCall({ name, stream }: Tool): string {
  return stream ? pythonPath(name) : `await ${pythonPath(name)}`;
}

/** Keyword parameters, or one dict if a field's name is not a Python name. */
function pythonParameters(tool: Tool, options: TypeTextOptions): string {
  const schema = inputJson(tool);
  const fields = options.depth > 0 ? typedFields(schema, options) : undefined;
  if (!fields?.every(({ name }) => isPythonName(name))) return `input: ${typeText(schema, options)}`;
  const named = fields.map(
    ({ name, type, required, comment }) => `${name}: ${type}${comment}${required ? "" : " = ..."}`,
  );
  return named.length === 0 ? "" : `*, ${named.join(", ")}`;
}

/** The type of a tool's result, or of one item of its stream. A program reads results and does not make them, so their bounds are left out. */
function resultText(tool: Tool, detail: TypeDetail, notation: TypeNotation): string {
  const schema = shownOutput(tool);
  return schema === undefined ? notation.unknown : typeText(schema, { ...detail, constraints: false, notation });
}

function declare(tool: Tool, form: Form, detail: Detail): string {
  const { toolDescription, depth } = detail;
  const signature = form.signature(tool, detail);
  const description = toolDescription === 0 ? "" : commentLine(tool.description, toolDescription);
  const result = depth > 1 ? observedText(tool) : "";
  const comment = [approvalText(tool), rateText(tool), result, description].filter((part) => part !== "").join("; ");
  return comment === "" ? signature : `${signature} ${form.comment} ${comment}`;
}

function approvalText({ approvable, needsApproval }: Tool): string {
  if (!approvable) return "";
  return needsApproval === needsApprovalAlways ? "needs approval" : "may need approval";
}

/** Calls beyond it wait, which takes time of their program. */
function rateText({ rate }: Tool): string {
  return rate === undefined
    ? ""
    : `at most ${rate.calls === 1 ? "1 call" : `${rate.calls} calls`} in ${rate.perMs / 1000} s`;
}

function namesOnly(tools: readonly Tool[], form: Form, budgetTokens: number): string {
  const names = tools.map((tool) => form.bareSignature(tool));
  const withFirst = (kept: number) => {
    const missing = names.length - kept;
    const leftOut = `Types and descriptions are left out${missing === 0 ? "" : `, and so are ${missing} of ${names.length} tools`}: the budget of ${budgetTokens} tokens has no room for them.`;
    return joinLines(form, leftOut, names.slice(0, kept));
  };
  // The number of names that fit is at least `kept` and below `tooMany`.
  let kept = 0;
  let tooMany = names.length + 1;
  while (tooMany - kept > 1) {
    const tried = Math.floor((kept + tooMany) / 2);
    if (hasAtMostTokens(withFirst(tried), budgetTokens)) kept = tried;
    else tooMany = tried;
  }
  return withFirst(kept);
}

function joinLines({ comment }: Form, leftOut: string | undefined, lines: readonly string[]): string {
  return [...(leftOut === undefined ? [] : [`${comment} ${leftOut}`]), ...lines].join("\n");
}
