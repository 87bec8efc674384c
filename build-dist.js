// @ts-check
/*
 * `make build`: what users of the package run. A process that imports the package and runs a program opens a few files, not
 * four hundred: what is loaded together is one file of `dist/src`. What other processes run, and what the code reads from the
 * disk, keeps its place below `dist/src`. Dependencies stay dependencies. The compiler has written the declarations before,
 * and those of each public entry become one file.
 */
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix, relative } from "node:path";
import { build } from "rolldown";
import { dts } from "rolldown-plugin-dts";

const root = import.meta.dirname;
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.values(manifest.exports).filter((entry) => typeof entry === "object");

/** Modules that are loaded together with these are one file. A later file has what no earlier one has. */
const TOGETHER = {
  main: ["src/index.ts"],
  run: ["src/runtime/runtime.ts", "src/executions/resume.ts"],
  converse: ["src/conversations/resume-agent.ts"],
  cli: ["src/cli/run-process.ts"],
  serve: ["src/serve/index.ts"],
};

/**
 * Syntax is compiled for the oldest node that must read it, to say which node is needed.
 * @type {import("rolldown").InputOptions}
 */
const INPUT = {
  cwd: root,
  platform: "node",
  // What the compiler adds for `using` is part of the files.
  external: (id) => !/^(?:[./]|\0|@oxc-project\/runtime\/)/.test(id),
  transform: { target: "es2024" },
  // What is loaded with the first program is one file, also if a later module imports a part of it.
  checks: { ineffectiveDynamicImport: false },
};
/** @type {import("rolldown").OutputOptions} */
const OUTPUT = { format: "esm", sourcemap: true, sourcemapExcludeSources: true, comments: false, minify: false };

/**
 * A module names the files beside it by `new URL("./NAME", import.meta.url)`. Built, it stands in a file of `dist/src`: the
 * names are rewritten to start there.
 * @type {import("rolldown").Plugin}
 */
const PLACED = {
  name: "placed",
  transform(source, id) {
    const folder = posix.dirname(relative(join(root, "src"), id));
    const code = source.replaceAll(
      /(?<=new URL\(["`])\.[^"`$]*(?=[^"`]*["`], import\.meta\.url\))/g,
      (name) => `./${posix.join(folder, name)}`,
    );
    // Lines stay where they are.
    return code === source ? null : { code, map: null };
  },
};

/** Modules that these load before their own code runs. */
function loadedWith(
  /** @type {string[]} */ sources,
  /** @type {(id: string) => import("rolldown").ModuleInfo | null} */ infoOf,
) {
  const loaded = new Set();
  const todo = sources.map((source) => join(root, source));
  for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
    if (loaded.has(id)) continue;
    loaded.add(id);
    todo.push(...(infoOf(id)?.importedIds ?? []));
  }
  return loaded;
}

/** The declarations of the entries, of which what they share is written once, and nothing that no entry leads to. */
async function bundleDeclarations() {
  const input = Object.fromEntries(
    entries.map((entry) => [
      posix.basename(entry.types, ".d.ts"),
      entry["portcullis-source"].replace(/^\.\/(.*)\.ts$/, "dist/$1.d.ts"),
    ]),
  );
  const { output } = await build({
    cwd: root,
    input,
    external: INPUT.external,
    plugins: [dts({ dtsInput: true, tsconfig: false })],
    output: { format: "esm", chunkFileNames: "types-[hash].d.ts" },
    write: false,
  });
  for (const file of globSync("dist/**/*.d.*ts", { cwd: root })) rmSync(join(root, file));
  for (const file of output) if (file.type === "chunk") writeFileSync(join(root, "dist/src", file.fileName), file.code);
}

await build({
  ...INPUT,
  input: Object.fromEntries([
    ["cli", "src/cli.ts"],
    ...entries.map((entry) => [posix.basename(entry.default, ".js"), entry["portcullis-source"]]),
  ]),
  plugins: [PLACED],
  output: {
    ...OUTPUT,
    dir: "dist/src",
    chunkFileNames: "[name]-[hash].js",
    codeSplitting: {
      groups: Object.entries(TOGETHER).map(([name, sources], index) => {
        /** @type {Set<string> | undefined} */
        let loaded;
        return {
          debugName: name,
          priority: 10 - index,
          name: (id, modules) => {
            loaded ??= loadedWith(sources, (of) => modules.getModuleInfo(of));
            return loaded.has(id) ? name : null;
          },
        };
      }),
    },
  },
});
for (const input of [
  "executions/prepare/thread/thread.js",
  "base/untrusted/thread/thread.js",
  "sources/openapi/conversion-thread.js",
])
  await build({
    ...INPUT,
    input: `src/${input}`,
    plugins: [PLACED],
    output: { ...OUTPUT, file: `dist/src/${input}`, codeSplitting: false },
  });
await build({
  ...INPUT,
  input: globSync("examples/**/*.ts", { cwd: root }).filter((path) => !path.endsWith(".d.ts")),
  output: { ...OUTPUT, sourcemap: false, dir: "dist/examples", preserveModules: true, preserveModulesRoot: "examples" },
});
for (const file of globSync(
  ["examples/**/*", "src/tools/encodings/*.bin", "src/sandboxes/isolate/{engine.cjs,no-sockets.bin}"],
  {
    cwd: root,
    withFileTypes: true,
  },
)) {
  const path = relative(root, join(file.parentPath, file.name));
  if (file.isFile() && !/\.ts$|README\.md$/.test(path)) cpSync(join(root, path), join(root, "dist", path));
}
await bundleDeclarations();
