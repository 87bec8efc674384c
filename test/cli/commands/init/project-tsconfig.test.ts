import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { lacksOf } from "../../../../src/cli/commands/init/project-tsconfig.ts";
import { root } from "../../command.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-init-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A folder with these files. */
function project(files: Readonly<Record<string, unknown>>): string {
  const made = mkdtempSync(join(folder, "project-"));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(made, name)), { recursive: true });
    writeFileSync(join(made, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return made;
}
const words = async (made: string) =>
  (await lacksOf(made)).map(({ add }) => /"(?:types|module|exclude|include)"/.exec(add)?.[0]);
const optionsOf = (options: object) => ({ "tsconfig.json": { compilerOptions: options } });
const NODE = { types: ["node"] };

test.each<readonly [what: string, files: Readonly<Record<string, unknown>>, lacks: readonly string[]]>([
  ["nothing", { "tsconfig.json": {} }, ['"types"']],
  ["the types of node", optionsOf(NODE), []],
  ["all types", optionsOf({ types: ["*"] }), []],
  ["other types", optionsOf({ types: ["jest"] }), ['"types"']],
  ["no look at declarations", optionsOf({ skipLibCheck: true, types: [] }), []],
  ["modules of node", optionsOf({ ...NODE, module: "NodeNext" }), []],
  ["a way to find modules that knows no exports", optionsOf({ ...NODE, moduleResolution: "node" }), ['"module"']],
  ["that of bundlers", optionsOf({ ...NODE, module: "esnext", moduleResolution: "bundler" }), []],
  ["JavaScript too", optionsOf({ ...NODE, allowJs: true }), ['"exclude"']],
  [
    "JavaScript without the program",
    { "tsconfig.json": { compilerOptions: { ...NODE, checkJs: true }, exclude: ["program.js"] } },
    [],
  ],
  ["files of another folder alone", { "tsconfig.json": { include: ["src"], compilerOptions: NODE } }, ['"include"']],
  ["another root", optionsOf({ ...NODE, rootDir: "./src" }), ['"include"']],
  [
    "files of all folders",
    { "tsconfig.json": { include: ["./**/*.ts"], compilerOptions: { ...NODE, rootDir: "." } } },
    [],
  ],
  ["its files by name", { "tsconfig.json": { files: ["tools.ts"], compilerOptions: NODE } }, []],
  [
    "comments and a comma too many",
    { "tsconfig.json": '{ // mine\n "compilerOptions": { "types": ["node"], }, }' },
    [],
  ],
  ["what it extends", { "tsconfig.json": { extends: "./base" }, "base.json": { compilerOptions: NODE } }, []],
  [
    "a package that it extends, and another file above that",
    {
      "tsconfig.json": { extends: ["base/tsconfig.json", "./own.json"] },
      "node_modules/base/tsconfig.json": { compilerOptions: { ...NODE, moduleResolution: "node" } },
      "own.json": { compilerOptions: { moduleResolution: "nodenext" } },
    },
    [],
  ],
  ["itself", { "tsconfig.json": { extends: "./tsconfig.json" } }, ['"types"']],
  ["what is not there", { "tsconfig.json": { extends: ["./gone.json", "gone"] } }, ['"types"']],
  ["no JSON", { "tsconfig.json": "{" }, []],
  [
    "an older TypeScript without modules of node",
    { ...optionsOf({ ...NODE, module: "esnext" }), "node_modules/typescript/package.json": { version: "5.9.3" } },
    ['"module"'],
  ],
  [
    "a newer TypeScript",
    { ...optionsOf({ ...NODE, module: "esnext" }), "node_modules/typescript/package.json": { version: "6.0.1" } },
    [],
  ],
])("a tsconfig.json that has %s", async (_, files, lacks) => {
  expect(await words(project(files))).toEqual(lacks);
});

describe("tsc finds nothing wrong in the files of init where nothing is lacking, and fails where something is", () => {
  test.each<
    readonly [what: string, config: { readonly compilerOptions?: object; readonly exclude?: readonly string[] }]
  >([
    ["nothing", {}],
    ["strict options, without the types of node", { compilerOptions: { strict: true } }],
    ["those with the types of node", { compilerOptions: { strict: true, ...NODE } }],
    [
      "what tsc --init writes",
      {
        compilerOptions: {
          module: "nodenext",
          target: "esnext",
          types: [],
          declaration: true,
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          verbatimModuleSyntax: true,
          isolatedModules: true,
          moduleDetection: "force",
          skipLibCheck: true,
        },
      },
    ],
    ["JavaScript that is checked", { compilerOptions: { ...NODE, checkJs: true } }],
    ["that without the program", { compilerOptions: { ...NODE, checkJs: true }, exclude: ["program.js"] }],
  ])("%s", async (_, config) => {
    const made = project({ "tsconfig.json": config, "package.json": { type: "module" } });
    for (const name of ["tools.ts", "program.js"]) cpSync(join(root, "examples/start", name), join(made, name));
    mkdirSync(join(made, "node_modules/@types"), { recursive: true });
    for (const name of ["zod", "@types/node", "undici-types"])
      symlinkSync(join(root, "node_modules", name), join(made, "node_modules", name));
    // The package, as far as tools.ts needs it: with declarations that refer to node.
    mkdirSync(join(made, "node_modules/portcullis"));
    writeFileSync(
      join(made, "node_modules/portcullis/package.json"),
      JSON.stringify({ name: "portcullis", type: "module", exports: { ".": { types: "./index.d.ts" } } }),
    );
    writeFileSync(
      join(made, "node_modules/portcullis/index.d.ts"),
      "export declare const bytes: Buffer;\nexport declare function defineTool(options: { handler: (input: any) => unknown; [name: string]: unknown }): object;\nexport declare class PortcullisError extends Error { constructor(code: string, message: string); }\n",
    );
    const { status } = spawnSync(join(root, "node_modules/.bin/tsc"), ["--noEmit"], { cwd: made });
    expect(status === 0).toBe((await lacksOf(made)).length === 0);
  });
});
