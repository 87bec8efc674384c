import { readdirSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { content, defineTool, fromAnthropic, jsonSchema, PortcullisError } from "../src/index.ts";
import { createMemoryJournal } from "../src/journal/memory-journal.ts";
import { scriptedModel } from "../src/models/scripted.ts";
import { anchorOf } from "./documents/anchor-of.ts";
import { OPTIONS_OBJECTS } from "./documents/option-tables.ts";
import { formatted } from "./documents/formatted.ts";
import { optionsPage, PAGE } from "./documents/options-page.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const read = (file: string) => readFileSync(root + file, "utf8");

/** A file, or all files of a folder and those below it. */
function filesIn(path: string): string[] {
  if (!statSync(root + path).isDirectory()) return [path];
  return readdirSync(root + path).flatMap((name) => (name === "node_modules" ? [] : filesIn(`${path}/${name}`)));
}

const documents = [
  "README.md",
  "SECURITY.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "llms.txt",
  ...["docs", "src", "bridge", "sandbox-image", "examples", "test"].flatMap(filesIn),
].filter((file) => /\.md$|^llms\.txt$/.test(file));

test("the page on operating names each package that a feature needs", () => {
  const { peerDependencies } = JSON.parse(read("package.json")) as { readonly peerDependencies: object };
  const page = read("docs/operating.md");
  expect(Object.keys(peerDependencies).filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

/** Text outside of blocks of code. */
const proseOf = (document: string) => read(document).replaceAll(/^```[^]*?^```$/gm, "");

describe("every link of a document leads to a file, and to a heading where it names one", () => {
  test.each(documents)("%s", (document) => {
    const links = [...proseOf(document).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
    const broken = links.filter(([, target = "", anchor]) => {
      const file = target === "" ? document : posix.join(posix.dirname(document), target);
      if (!statSync(root + file, { throwIfNoEntry: false })) return true;
      if (anchor === undefined) return false;
      return ![...proseOf(file).matchAll(/^#+ (.+)$/gm)].some(([, heading = ""]) => anchorOf(heading) === anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });
});

test.each([
  ["README.md", "## I want to …"],
  ["llms.txt", "## Begin"],
])("%s leads to every document", (file, from) => {
  const [, list = ""] = read(file).split(`\n${from}\n`);
  const docs = documents.filter((document) => document.startsWith("docs/"));
  expect(docs.filter((document) => !list.includes(`](${document}`))).toEqual([]);
});

/** Every file of the sources, by its own name too: a document may say "each adapter has its `content.ts`". */
const sources = new Set(filesIn("src").flatMap((file) => [file, posix.basename(file)]));

describe("every file that the README of a room names is there", () => {
  test.each(documents.filter((document) => document.startsWith("src/")))("%s", (document) => {
    const names = [...proseOf(document).matchAll(/`([\w./-]+\.(?:ts|js|json))`/g)].map(([, name = ""]) => name);
    const gone = names.filter((name) => {
      const file = posix.join(posix.dirname(document), name);
      return (
        !sources.has(name) &&
        !statSync(root + file, { throwIfNoEntry: false }) &&
        !statSync(root + name, { throwIfNoEntry: false })
      );
    });
    expect(gone).toEqual([]);
  });
});

/** Fields of records of the journal, of turns of scripts, of results and of their parts. */
const UNSHOWN = [
  "conversations/agent-options SET_RULES",
  "conversations/conversation-settings KEPT_RULES",
  "executions/decide RESULT_FIELDS",
  "models/scripted TURN_FIELDS",
  "tools/content PART_RULES",
];

describe("docs/options.md", () => {
  test("says what the rules of the code say", async () => {
    const made = formatted(PAGE, await optionsPage());
    expect(read(PAGE) === made, "Error: docs/options.md is stale. `make options` writes it anew.").toBe(true);
  });

  test("says of an option that is in several objects what it is in each", async () => {
    const [, ofPolicies = ""] = /^### A policy$([^]*?)^##/m.exec(await optionsPage()) ?? [];
    expect(ofPolicies).toContain("- **`name`**: Replaces a name that is not a valid tool name. Takes a name.");
    expect(ofPolicies).toContain("- **`approval`**: Whether a call needs approval; by default the library's own rule.");
  });

  const codeOf = (work: () => unknown) => {
    try {
      work();
    } catch (error) {
      return PortcullisError.is(error) ? error.code : String(error);
    }
    return "nothing";
  };
  test("tells the code with which the functions of its sections refuse an option", async () => {
    const page = await optionsPage();
    const tool = {
      name: "a.b",
      description: "d",
      inputSchema: jsonSchema({ type: "object" }),
      allowedCallers: ["direct"],
    };
    const define = (more: object) => () => defineTool({ ...tool, effect: "read", execute: () => 1, ...more } as never);
    const given: readonly (readonly [section: string, refused: () => unknown])[] = [
      ["`defineTool(options)`", define({ timeoutMs: "soon" })],
      ["`defineTool({ retry })`", define({ retry: { time: 3 } })],
      ["`defineTool({ rate })`", define({ rate: { calls: 0 } })],
      ["`content(options)`", () => content({ parts: 5 } as never)],
      [
        "A policy",
        () => fromAnthropic([{ name: "a", input_schema: {}, run: () => 1 }] as never, { effect: "no" } as never),
      ],
      ["`scriptedModel(script, options)`", () => scriptedModel([], { none: 1 } as never)],
      ["`createMemoryJournal(options)`", () => createMemoryJournal({ none: 1 } as never)],
    ];
    for (const [section, refused] of given) {
      const [, text = ""] = page.split(`\n### ${section}\n`);
      const [own = ""] = text.split("\n### ");
      const code = /Errors have the code `(\w+)`/.exec(own)?.[1] ?? "option_invalid";
      expect([section, codeOf(refused)]).toEqual([section, code]);
    }
  });

  test("has every record of rules in the sources, but those that no caller writes", () => {
    const code = filesIn("src").filter((file) => file.endsWith(".ts"));
    const declared = code.flatMap((file) =>
      [...read(file).matchAll(/^(?:export )?const ([A-Z_]+_(?:RULES|FIELDS|FLAGS)) = \{/gm)].map(
        ([, name = ""]) => `${file} ${name}`,
      ),
    );
    const shown = new Set(
      Object.values(OPTIONS_OBJECTS).flatMap((members) => members.map(({ file, rules }) => `${file} ${rules}`)),
    );
    const all = code.map(read).join("\n");
    const isPart = (name: string) => new RegExp(`\\.\\.\\.(?:pick\\()?${name}\\b`).test(all);
    const left = declared
      .filter((one) => !shown.has(one) && !isPart(one.split(" ")[1] ?? ""))
      .map((one) => one.replaceAll(/^src\/|\.ts\b/g, ""));
    expect(left).toEqual(UNSHOWN);
  });
});
