import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);

/** The file with the data of the example licenses. */
export const licensesFile = fileURLToPath(new URL("../../examples/licenses/licenses.json.br", import.meta.url));

/** The same data in the package that it was taken from: each licence by its id. */
export function allLicenses(): Readonly<Record<string, unknown>> {
  const ids = Object.keys(require("spdx-license-list/spdx.json") as object);
  return Object.fromEntries(ids.map((id) => [id, require(`spdx-license-list/licenses/${id}.json`) as unknown]));
}
