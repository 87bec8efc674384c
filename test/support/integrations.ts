import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Whether the packages of a folder are installed, there or for the whole project. */
function isInstalled(folder: string): boolean {
  const { devDependencies } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as {
    readonly devDependencies: object;
  };
  return Object.keys(devDependencies).every((name) =>
    [folder, "."].some((place) => existsSync(join(root, place, "node_modules", name, "package.json"))),
  );
}

/**
 * Whether the packages are installed that `make packages` and `make check` install beyond those of `make test`: frameworks,
 * clients and suites of others, bundlers and packagers. Without them `make test` has no file that ends in
 * `.integration.test.ts`, and skips the tests that ask for this.
 */
export const INTEGRATIONS = ["test/integrations", "test/packagers", "bridge/globals", "page"].every(isInstalled);
