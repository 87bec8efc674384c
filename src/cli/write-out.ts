import { accessSync, constants, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EXIT } from "./exit-code.ts";
import { Failure } from "./failure.ts";

/** Creates the folder that `--out` names. Throws where it is not writable, so that a long run does not fail at its end. */
export function openOut(folder: string): void {
  guard(folder, () => {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  });
}

export function writeOut(folder: string, file: string, text: string): void {
  guard(folder, () => writeFileSync(join(folder, file), text));
}

/** The day of a report, like 2026-11-20. */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function guard(folder: string, work: () => void): void {
  try {
    work();
  } catch (cause) {
    throw new Failure(
      EXIT.usage,
      `--out: ${folder} cannot be written: ${(cause as Error).message}. Name another folder.`,
      {
        cause,
      },
    );
  }
}
