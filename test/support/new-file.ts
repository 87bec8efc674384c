import { rmSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { memoryFolder } from "./memory-folder.ts";

/** The path of a new file for a journal, which goes after this test. */
export function newFile(): string {
  const folder = memoryFolder("portcullis-journals-");
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "journal.db");
}
