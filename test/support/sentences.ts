import { tmpdir } from "node:os";
import { expect } from "vitest";

/** How many sentences a room may have in its snapshot, so that a change of words is a diff that is read. */
const MOST = 200;

/** A text, an error or a refused answer; or work that throws or gives one. */
export type Said = string | object | undefined | (() => unknown);

/**
 * Holds what a room says to the snapshot beside the test, a line for each: its code, where it has one, and its sentence. Other
 * tests assert codes and names, so that a change of words changes this file alone.
 */
export async function holdSentences(said: readonly Said[]): Promise<void> {
  const lines: string[] = [];
  for (const one of said) lines.push(lineOf(typeof one === "function" ? await outcomeOf(one as () => unknown) : one));
  const different = [...new Set(lines)];
  expect(different.length).toBeLessThanOrEqual(MOST);
  await expect(different.map((line) => `${line}\n`).join("")).toMatchFileSnapshot("sentences.snap.txt");
}

async function outcomeOf(work: () => unknown): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    // A mistake of the test itself.
    if (error instanceof TypeError) throw error;
    return error;
  }
}

function lineOf(one: unknown): string {
  if (typeof one === "string")
    return one
      .trimEnd()
      .replaceAll(tmpdir(), "/tmp")
      .replaceAll(/\/tmp\/portcullis-\w+/g, "FOLDER")
      .replaceAll("\n", "\\n");
  const { code, message } = one as { readonly code?: string; readonly message?: unknown };
  expect(message, "Error: this says nothing").toBeTypeOf("string");
  return lineOf(code === undefined ? message : `${code}: ${String(message)}`);
}
