import type { ComparisonContext } from "../comparison-request.ts";
import type { MadeCall } from "../../programs/calls-of.ts";

/** UTF-16 code units of each sample that a probing program looks at. */
const SAMPLE_LENGTH = 600;

type Language = ComparisonContext["scope"]["language"];

/** A program that returns a sample of one result of each tool, as a model writes it before it knows the results. */
export function probingProgram(calls: readonly MadeCall[], language: Language): string {
  const first = new Map<string, string>();
  for (const { tool, inputText } of calls) if (!first.has(tool)) first.set(tool, inputText);
  const python = language === "python";
  const samples = [...first].map(([tool, inputText]) => {
    const name = JSON.stringify(tool);
    return python
      ? `  ${name}: json.dumps(await tools.${tool}(**json.loads(${JSON.stringify(inputText)})))[:${SAMPLE_LENGTH}],\n`
      : `  ${name}: JSON.stringify(await tools.${tool}(${inputText})).slice(0, ${SAMPLE_LENGTH}),\n`;
  });
  return python ? `import json\nreturn {\n${samples.join("")}}\n` : `return {\n${samples.join("")}};\n`;
}

/** The program with a usual mistake of models in front: it reads a field that the result does not have. */
export function failingProgram(source: string, language: Language): string {
  return language === "python"
    ? `rows = [].rows\n${source}`
    : `{ const { length } = (await Promise.resolve([])).rows; }\n${source}`;
}
