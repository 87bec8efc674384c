import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { blocksOf, DOCUMENTS, filesIn, root, snippets } from "../support/snippets.ts";

/* Writes a project of all snippets and files of the documents, under strict options, for the compiler of `make types`. */

const project = join(root, "node_modules/.cache/snippets");
const sources = Object.entries(packageJson.exports).flatMap(([entry, target]) =>
  typeof target === "string" ? [] : [[entry.replace(".", "portcullis"), [join(root, target["portcullis-source"])]]],
);
const compilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  noUnusedLocals: false,
  noUnusedParameters: false,
  rootDir: "/",
  incremental: true,
  tsBuildInfoFile: join(project, "tsbuildinfo"),
  paths: Object.fromEntries(sources) as Readonly<Record<string, readonly string[]>>,
};
const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["docs"], exclude: [] };

rmSync(join(project, "docs"), { recursive: true, force: true });
mkdirSync(project, { recursive: true });
writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
for (const document of DOCUMENTS) {
  const folder = join(project, "docs", document.replaceAll(/\W/g, "-"));
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of filesIn(blocksOf(document))) writeFileSync(join(folder, file), text);
  const codes = snippets.filter((snippet) => snippet.document === document);
  for (const [index, { code }] of codes.entries()) writeFileSync(join(folder, `snippet-${index + 1}.ts`), code);
}
