import { isBuiltin } from "node:module";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { blocks, blocksOf, DOCUMENTS, filesIn, importsOf, packagesIn } from "../support/snippets.ts";

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
