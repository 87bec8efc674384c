import {
  answerType,
  isPythonName,
  type ProgramLanguage,
  pythonCall,
  resultText,
} from "../declarations/declarations.ts";
import type { JsonSchema } from "../json-schema/json-schema.ts";
import { observedText } from "../observed/shown-output.ts";
import type { Tool } from "../tool.ts";
import { jsonSchemaOf } from "../tool-schemas.ts";
import { PYTHON, TYPESCRIPT, type TypeNotation } from "../declarations/type-notation.ts";
import { fieldsOf, typeText, type TypeTextOptions } from "../declarations/type-text.ts";

/** Maximum characters of a stub with details. */
const STUB_LENGTH = 1200;

/** From full detail to the minimum. The first stub that is short enough is used. */
const DETAILS: readonly Omit<TypeTextOptions, "notation">[] = [
  { descriptionLength: 120, constraints: true, depth: 6 },
  { descriptionLength: 40, constraints: true, depth: 4 },
  { descriptionLength: 0, constraints: true, depth: 3 },
  { descriptionLength: 0, constraints: false, depth: 2 },
  { descriptionLength: 0, constraints: false, depth: 1 },
];

const FORMS: Readonly<Record<ProgramLanguage, (tool: Tool, detail?: (typeof DETAILS)[number]) => string>> = {
  javascript(tool, detail) {
    const input = detail ? typeText(inputOf(tool), { ...detail, notation: TYPESCRIPT }) : "object";
    const result = resultType(tool, TYPESCRIPT, detail);
    return `tools.${tool.name} as (input: ${input}) => ${answerType(tool)}<${result}>${commentOf(tool, detail, "//")}`;
  },
  python(tool, detail) {
    const call = `${pythonCall(tool)}(${detail ? pythonArguments(tool, detail) : "dict"})`;
    const result = resultType(tool, PYTHON_STUB, detail);
    const stub = tool.stream ? `items: AsyncIterator[${result}] = ${call}` : `result: ${result} = ${call}`;
    return stub + commentOf(tool, detail, "#");
  },
};

/** Python has no comment within a line, so what a field is about is an annotation of its type. */
const PYTHON_STUB: TypeNotation = {
  ...PYTHON,
  fields: (fields) =>
    `{${fields
      .map(({ name, type, required, comment }) => `${JSON.stringify(name)}: ${annotated(type, required, comment)}`)
      .join(", ")}}`,
};

/** A call of a tool on one line that parses: typed in TypeScript, in Python an assignment with types as arguments. */
export function toolStub(tool: Tool, language: ProgramLanguage): string {
  const known = stubs[language].get(tool) ?? makeStub(tool, language);
  stubs[language].set(tool, known);
  return known;
}

const stubs = { javascript: new WeakMap<Tool, string>(), python: new WeakMap<Tool, string>() };

function makeStub(tool: Tool, language: ProgramLanguage): string {
  const form = FORMS[language];
  for (const detail of DETAILS) {
    const stub = form(tool, detail);
    if (stub.length <= STUB_LENGTH) return stub;
  }
  return form(tool);
}

function inputOf(tool: Tool): JsonSchema {
  return jsonSchemaOf(tool.name, "input", tool.inputSchema);
}

function resultType(tool: Tool, notation: TypeNotation, detail: (typeof DETAILS)[number] | undefined): string {
  return detail ? resultText(tool, detail, notation) : notation.unknown;
}

/** How the type of a result is known, behind the stub. */
function commentOf(tool: Tool, detail: object | undefined, mark: string): string {
  const text = observedText(tool);
  return detail && text !== "" ? ` ${mark} ${text}` : "";
}

/** Keyword arguments, or one dict if a field's name is not a Python name. */
function pythonArguments(tool: Tool, detail: (typeof DETAILS)[number]): string {
  const options = { ...detail, notation: PYTHON_STUB };
  const schema = inputOf(tool);
  const fields = fieldsOf(schema, options);
  if (!fields?.every(({ name }) => isPythonName(name))) return typeText(schema, options);
  return fields.map(({ name, type, required, comment }) => `${name}=${annotated(type, required, comment)}`).join(", ");
}

function annotated(type: string, required: boolean, comment: string): string {
  const optional = required ? type : `NotRequired[${type}]`;
  const about = comment.slice(" /* ".length, -" */".length);
  return about === "" ? optional : `Annotated[${optional}, ${JSON.stringify(about)}]`;
}
