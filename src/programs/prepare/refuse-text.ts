import type { Fault } from "../outcome.ts";

/** Most bytes of a program: some 8,000 tokens. Reading an ordinary one of that size holds the host's thread for about 20 ms, the worst one known for about 300 ms. */
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
    message: `The text has ${count} blocks of code, and each may be the program. Send one program, in one block or in none.`,
  };
}

/** Why a text can be no program of any language; undefined where it may be one. */
export function refuseText(source: string): Fault | undefined {
  if (source.trim() === "") return PROGRAM_EMPTY;
  const bytes = Buffer.byteLength(source);
  if (bytes > PROGRAM_BYTES)
    return {
      name: "ProgramError",
      code: "program_too_large",
      message: `The program has ${bytes} bytes, at most ${PROGRAM_BYTES} are allowed. Fetch data with tools instead of writing it into the program.`,
    };
  const control = source.search(/[\0-\x08\x0e-\x1f]|\ufffd{3}/);
  if (control >= 0)
    return {
      name: "ProgramError",
      code: "program_not_text",
      message: `The program is not text: character ${control + 1} cannot stand in a program. Send its source code.`,
    };
  return undefined;
}
