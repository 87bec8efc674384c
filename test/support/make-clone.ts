import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import packageJson from "../../package.json" with { type: "json" };

const root = fileURLToPath(new URL("../../", import.meta.url));
const BUILT_FROM = [
  "src",
  "bridge",
  "Makefile",
  "build-dist.js",
  "tsconfig.json",
  "tsconfig.dist.json",
  "package.json",
  "package-lock.json",
];

/** A clone of the sources whose packages are installed, so that packing it builds it and installs nothing. */
export function makeClone(clone: string): void {
  // Patterns leave out files of folders, or name files of `src`.
  const shipped = packageJson.files.filter((file) => file !== "dist" && !/[!*]/.test(file));
  for (const file of [...BUILT_FROM, ...shipped, "README.md", "LICENSE"])
    cpSync(join(root, file), join(clone, file), { recursive: true, filter: (path) => !path.endsWith("node_modules") });
  mkdirSync(join(clone, "node_modules"));
  for (const name of readdirSync(join(root, "node_modules")))
    if (!name.startsWith(".installed"))
      symlinkSync(join(root, "node_modules", name), join(clone, "node_modules", name));
  // The Makefile takes this file for the time of the last installation.
  writeFileSync(join(clone, "node_modules/.installed"), "");
}
