import type { Fault } from "../outcome.ts";

/** Maximum size of a program: about 8,000 tokens. */
export const PROGRAM_BYTES = 32 * 1024;

export const PROGRAM_EMPTY: Fault = {
  name: "ProgramError",
  code: "program_empty",
  message: "The program is empty. Write the body of an async function that calls tools and returns a value.",
};

export function severalPrograms(count: number): Fault {
  return {
    name: "ProgramError",
    code: "programs_several",
    message: `The text has ${count} code blocks, and each could be the program. Send one program, in a single block or without a block.`,
  };
}

/** The fault of a text that cannot be a program in any language; undefined if it may be one. */
export function refuseText(source: string): Fault | undefined {
  if (source.trim() === "") return PROGRAM_EMPTY;
  const tooLarge = tooLargeText(source);
  if (tooLarge) return tooLarge;
  const control = source.search(/[\0-\x08\x0e-\x1f]|\ufffd{3}/);
  if (control >= 0)
    return {
      name: "ProgramError",
      code: "program_not_text",
      message: `The program is not text: character ${control + 1} is not allowed in a program. Send source code.`,
    };
  return undefined;
}

export function tooLargeText(source: string): Fault | undefined {
  const bytes = Buffer.byteLength(source);
  if (bytes <= PROGRAM_BYTES) return undefined;
  return {
    name: "ProgramError",
    code: "program_too_large",
    message: `The program has ${bytes} bytes, at most ${PROGRAM_BYTES} are allowed. Fetch data with tools instead of writing it into the program.`,
  };
}
