import type { MadeCall } from "../../programs/calls-of.ts";

/** UTF-16 code units of each sample that a probing program looks at. */
const SAMPLE_LENGTH = 600;

/** A program that looks at one result of each tool, as a model writes it that does not know what they return. */
export function probingProgram(calls: readonly MadeCall[]): string {
  const first = new Map<string, string>();
  for (const { tool, inputText } of calls) if (!first.has(tool)) first.set(tool, inputText);
  const samples = [...first].map(
    ([tool, inputText]) =>
      `  ${JSON.stringify(tool)}: JSON.stringify(await tools.${tool}(${inputText})).slice(0, ${SAMPLE_LENGTH}),\n`,
  );
  return `return {\n${samples.join("")}};\n`;
}

/** The same program with a mistake that models make: it takes a result to be something else than it is. */
export function failingProgram(source: string): string {
  return `{ const { length } = (await Promise.resolve([])).rows; }\n${source}`;
}
