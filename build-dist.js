// @ts-check
/*
 * `make build`: what users of the package run. A process that imports the package and runs a program opens a few files, not
 * four hundred: what is loaded together is one file of `dist/src`. What other processes run, and what the code reads from the
 * disk, keeps its place below `dist/src`. Dependencies stay dependencies. The compiler has written the declarations before;
 * those that no public entry leads to are removed.
 */
import { cpSync, globSync, readFileSync, rmSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { build } from "rolldown";

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

/** Declarations that the public entries need, and the declarations that these need. */
function reachedDeclarations() {
  const reached = new Set();
  const todo = entries.map(({ types }) => join(types));
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    const text = readFileSync(join(root, file), "utf8");
    for (const [, path = ""] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)\.[jt]s"/g))
      todo.push(join(dirname(file), `${path}.d.ts`));
  }
  return reached;
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
const reached = reachedDeclarations();
for (const file of globSync("dist/**/*.d.*ts", { cwd: root })) if (!reached.has(file)) rmSync(join(root, file));
