// @ts-check
/*
 * What `make build` does beside compiling. `node trim-dist.js names` fails where two sources would be built into one file.
 * `node trim-dist.js` makes the built package smaller: without declarations that no public entry leads to, and without
 * comments in what is run. Comments of declarations stay, because editors show them.
 */
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));

/** Files whose names differ only in what compiling changes. */
export function nameClashes(/** @type {readonly string[]} */ sources) {
  const byName = Map.groupBy(sources, (source) => source.replace(/\.(?:d\.)?[cm]?[jt]s$/, ""));
  return [...byName.values()].filter((same) => same.length > 1);
}

/** Declarations that the public entries need, and the declarations that these need. */
function reachedDeclarations() {
  const entries = Object.values(manifest.exports).flatMap((entry) => entry.types ?? []);
  const reached = new Set();
  const todo = entries.map((file) => join(file));
  for (let file = todo.pop(); file !== undefined; file = todo.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)\.[jt]s"/g))
      todo.push(join(dirname(file), `${path}.d.ts`));
  }
  return reached;
}

async function trim() {
  const reached = reachedDeclarations();
  for (const file of globSync("dist/**/*.d.ts")) if (!reached.has(file)) rmSync(file);
  const { transform } = await import("esbuild");
  await Promise.all(
    // Programs of the examples are no modules, and stay as they are.
    globSync("dist/{src,bridge}/**/*.js").map(async (file) => {
      const source = readFileSync(file, "utf8");
      const { code } = await transform(source, {
        format: "esm",
        target: "esnext",
        legalComments: "none",
        charset: "utf8",
      });
      writeFileSync(file, code);
    }),
  );
}

if (import.meta.main) {
  if (process.argv[2] === "names") {
    const clashes = nameClashes(globSync(["src/**/*.{ts,js}", "bridge/*.ts", "examples/**/*.ts"]));
    for (const same of clashes)
      process.stderr.write(`${same.join(" and ")} would be built into one file: rename one of them.\n`);
    process.exitCode = clashes.length > 0 ? 1 : 0;
  } else await trim();
}
