import { execFile } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { INTEGRATIONS } from "../support/integrations.ts";
import { blocks, blocksOf, DOCUMENTS, filesIn, importsOf, packagesIn, root, snippets } from "../support/snippets.ts";

/** Entries of the package: `portcullis`, `portcullis/journal`. */
const ENTRIES = new Set(Object.keys(packageJson.exports).map((entry) => entry.replace(".", "portcullis")));
/** What the README tells to install for all snippets. */
const FOR_ALL = ["zod"];

/** `@langchain/core` of `@langchain/core/tools`. */
const packageOf = (name: string) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? "";

describe("a reader who copies from the top of a document has all that a snippet imports: entries, installed packages, own files", () => {
  const documents = DOCUMENTS.filter((document) =>
    blocks.some((block) => block.document === document && block.language === "ts"),
  );
  test.each(documents)("%s", (document) => {
    const own = blocksOf(document);
    const missing = own.flatMap((block, index) => {
      if (block.language !== "ts") return [];
      const above = own.slice(0, index);
      const files = filesIn(above);
      const packages = new Set([...FOR_ALL, ...packagesIn(above)]);
      const has = (name: string) =>
        ENTRIES.has(name) || isBuiltin(name) || files.has(name.replace(/^\.\//, "")) || packages.has(packageOf(name));
      return importsOf(block.text).filter((name) => !has(name));
    });
    expect(missing).toEqual([]);
  });
});

/** Stays, with what the compiler knows of the sources from the run before. */
const project = join(root, "node_modules/.cache/snippets");

test.skipIf(!INTEGRATIONS)(
  "every snippet and file of the documents type-checks under strict, exactOptionalPropertyTypes and noUncheckedIndexedAccess",
  async () => {
    rmSync(join(project, "docs"), { recursive: true, force: true });
    mkdirSync(project, { recursive: true });
    writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
    const sources = Object.entries(packageJson.exports).flatMap(([entry, target]) =>
      typeof target === "string" ? [] : [[entry.replace(".", "portcullis"), [join(root, target["portcullis-source"])]]],
    );
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      noUnusedLocals: false,
      noUnusedParameters: false,
      rootDir: "/",
      incremental: true,
      tsBuildInfoFile: join(project, "tsbuildinfo"),
      paths: Object.fromEntries(sources) as Readonly<Record<string, readonly string[]>>,
    };
    const config = { extends: join(root, "tsconfig.json"), compilerOptions, include: ["docs"], exclude: [] };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify(config));
    for (const document of DOCUMENTS) {
      const folder = join(project, "docs", document.replaceAll(/\W/g, "-"));
      mkdirSync(folder, { recursive: true });
      const own = blocksOf(document);
      for (const [file, text] of filesIn(own)) writeFileSync(join(folder, file), text);
      const codes = snippets.filter((snippet) => snippet.document === document);
      for (const [index, { code }] of codes.entries()) writeFileSync(join(folder, `snippet-${index + 1}.ts`), code);
    }
    const tsc = join(root, "node_modules/.bin/tsc");
    const { stdout } = await promisify(execFile)(tsc, ["-p", project]).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  },
);
