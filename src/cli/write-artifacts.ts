import { mkdirSync } from "node:fs";
import { lstat, readFile, writeFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { artifactNameFault } from "../gate/artifacts/artifact-name.ts";
import type { ReportArtifact } from "../executions/output/index.ts";
import { EXIT, causeOf, Failure, reasonOf } from "./failure.ts";
import { oneLine, writeStderr } from "./terminal/standard-streams.ts";

/** Makes the folder for artifacts, before anything runs. If `folder` is undefined, makes none. */
export function makeArtifactsFolder(folder: string | undefined): void {
  if (folder === undefined) return;
  try {
    mkdirSync(folder, { recursive: true });
  } catch (error) {
    throw new Failure(EXIT.environment, `--artifacts ${folder}: ${causeOf(error)}. Give a folder that can be written.`);
  }
}

/**
 * Writes artifacts to files of a folder, one after the other, and says which. A text is written as it is, under its
 * name; any other value as JSON. A file that is there already and has another content stays as it is. Resolves with the
 * exit code: 0, or a failure's if an artifact was not written. If `folder` is undefined, writes none.
 */
export async function writeArtifacts(
  folder: string | undefined,
  artifacts: readonly ReportArtifact[],
): Promise<number> {
  if (folder === undefined) return EXIT.completed;
  let code: number = EXIT.completed;
  for (const artifact of artifacts) {
    const said = await writeOne(folder, artifact);
    if (!said.written) code = EXIT.environment;
    writeStderr(`portcullis: ${oneLine(said.text)}\n`);
  }
  return code;
}

async function writeOne(folder: string, { name, bytes, read }: ReportArtifact) {
  // The record may be from a journal that was made elsewhere, and many names would lead out of the folder.
  const fault = artifactNameFault(name);
  if (fault !== undefined) return { written: false, text: `an artifact was not written: ${fault}` };
  try {
    const value = await read();
    const file = join(folder, fileName(name, value));
    const content = typeof value === "string" ? value : `${JSON.stringify(value, undefined, 2)}\n`;
    if (await isWritten(file, content)) return { written: true, text: `${file} (${bytes} bytes)` };
    return { written: false, text: `${file} is there already with another content, and was left as it is.` };
  } catch (error) {
    return { written: false, text: `the artifact ${name} was not written: ${reasonOf(error)}` };
  }
}

function fileName(name: string, value: unknown): string {
  if (typeof value === "string") return extname(name) === "" ? `${name}.txt` : name;
  return name.endsWith(".json") ? name : `${name}.json`;
}

/** Writes a file that is not there yet. False if there is one, or a link, with another content. */
async function isWritten(file: string, content: string): Promise<boolean> {
  try {
    await writeFile(file, content, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const { size } = await lstat(file);
  return size === Buffer.byteLength(content) && (await readFile(file, "utf8")) === content;
}
