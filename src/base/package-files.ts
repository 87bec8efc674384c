import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PortcullisError } from "./errors.ts";

/**
 * Path of a file of this package that other processes read, by an entry of `imports` or `exports` in `package.json`.
 * Throws a `PortcullisError` if a bundler has packed this module into another file: the files do not come with it.
 */
export function packageFile(
  specifier: `#guest/${string}` | `#sandbox-image/${string}` | "portcullis/package.json",
): string {
  try {
    return fileURLToPath(import.meta.resolve(specifier));
  } catch (cause) {
    throw new PortcullisError(
      "sandbox_unavailable",
      `The file ${specifier} of the package portcullis cannot be found. If a bundler has packed the package's code, name portcullis as external in the bundler's configuration, and install it where the bundle runs (docs/operating.md, "Bundlers").`,
      { cause },
    );
  }
}

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packageFile("portcullis/package.json"), "utf8")) as {
    readonly version: string;
  };
  return version;
}
