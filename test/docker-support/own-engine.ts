import { createHash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const checkout = createHash("sha256")
  .update(fileURLToPath(import.meta.url))
  .digest("hex")
  .slice(0, 8);

/** Where the engine lives that tests start for themselves: one for each checkout. */
export const OWN_FOLDER = join(tmpdir(), `portcullis-engine-${checkout}`);
export const OWN_ADDRESS = `unix://${OWN_FOLDER}/socket`;

/** Makes that folder. Its name is known to other users of this machine: one that they have made is not used. */
export function needOwnFolder(): void {
  mkdirSync(OWN_FOLDER, { recursive: true, mode: 0o700 });
  const found = lstatSync(OWN_FOLDER);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0)
    throw new Error(`${OWN_FOLDER} is not a folder that only this user may change: remove it.`);
}
