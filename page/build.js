// @ts-check
/*
 * Bundles the page into `page/built/`, which is committed, so that it is there without a build step. `make page` runs this
 * after a change here or of preact; `test/page/built.test.ts` compares the committed files with a new bundle.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const folder = import.meta.dirname;
const root = join(folder, "..");

/** @param {string} entry */
async function bundle(entry) {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [join(folder, entry)],
    bundle: true,
    write: false,
    format: "iife",
    platform: "browser",
    target: ["chrome123", "firefox120", "safari17.5"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    charset: "ascii",
    legalComments: "none",
  });
  return outputFiles[0]?.text ?? "";
}

function licences() {
  const path = join(root, "node_modules", "preact");
  const { version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  return `preact ${version} (${license})\n\n${readFileSync(join(path, "LICENSE"), "utf8").trim()}\n`;
}

/** The contents of the files that are committed, by name. */
export async function buildPage() {
  return {
    "index.html": readFileSync(join(folder, "index.html"), "utf8"),
    "icon.svg": readFileSync(join(folder, "icon.svg"), "utf8"),
    "page.js": await bundle("main.tsx"),
    "page.css": await bundle("page.css"),
    "licences.txt": licences(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  mkdirSync(join(folder, "built"), { recursive: true });
  for (const [name, text] of Object.entries(await buildPage())) writeFileSync(join(folder, "built", name), text);
}
