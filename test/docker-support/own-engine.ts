import { createHash } from "node:crypto";
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
