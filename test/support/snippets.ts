import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** The documents whose every block of code is run or checked. */
export const DOCUMENTS: readonly string[] = [
  "README.md",
  ...readdirSync(`${root}docs`).flatMap((file) => (file.endsWith(".md") ? `docs/${file}` : [])),
];

export interface Block {
  readonly document: string;
  readonly where: string;
  readonly language: string;
  readonly text: string;
}

/** Blocks of code, each with its document and the heading it stands under. */
export const blocks: readonly Block[] = DOCUMENTS.flatMap((document) => {
  let heading = "";
  const text = readFileSync(root + document, "utf8");
  return [...text.matchAll(/^#+ (.+)$|^```(\w*)\n([^]*?)^```$/gm)].flatMap(([, title, language = "", text = ""]) => {
    if (title !== undefined) heading = title;
    return title === undefined ? [{ document, where: `${document}: ${heading}`, language, text }] : [];
  });
});

/** Name of the file that a block of code is to be saved as: its first line says it. Others are run. */
export const nameOf = ({ text }: Block) => /^\/\/ ([\w-]+\.[jt]s)$/m.exec(text.split("\n", 1)[0] ?? "")?.[1];

export interface Snippet {
  readonly document: string;
  readonly where: string;
  readonly code: string;
  /** The block behind it: what it prints. */
  readonly printed: Block | undefined;
}

/** Blocks of TypeScript that are run. */
export const snippets: readonly Snippet[] = blocks.flatMap((block, index) =>
  block.language === "ts" && nameOf(block) === undefined
    ? [{ document: block.document, where: block.where, code: block.text, printed: blocks[index + 1] }]
    : [],
);

export const blocksOf = (document: string): readonly Block[] => blocks.filter((block) => block.document === document);

/** Files that these blocks tell their reader to save, by their names. */
export function filesIn(some: readonly Block[]): ReadonlyMap<string, string> {
  return new Map(
    some.flatMap((block) => {
      const file = block.language === "ts" ? nameOf(block) : undefined;
      return file === undefined ? [] : [[file, block.text]];
    }),
  );
}

/** Module names that a piece of code imports. */
export const importsOf = (code: string): readonly string[] =>
  [...code.matchAll(/\bfrom "([^"]+)"|^import "([^"]+)"|\bimport\("([^"]+)"\)/gm)].map(
    ([, from, alone, lazy]) => from ?? alone ?? lazy ?? "",
  );

/** Packages that these blocks tell their reader to install, beside this one and zod. */
export function packagesIn(some: readonly Block[]): readonly string[] {
  const lines = some.flatMap(({ language, text }) =>
    language === "sh" ? text.split("\n").map((line) => line.replace(/\s+#.*/, "")) : [],
  );
  const named = lines.flatMap((line) => /^npm install (?!\.\/)(.+)$/.exec(line)?.[1]?.split(/\s+/) ?? []);
  return [...new Set(named)].filter((name) => name !== "portcullis" && name !== "zod");
}

/** Packages that a document tells its reader to install, beside this one and zod. */
export const packagesOf = (document: string): readonly string[] => packagesIn(blocksOf(document));
