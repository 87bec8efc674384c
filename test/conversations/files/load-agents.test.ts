import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readAgentFile } from "../../../src/conversations/files/agent-file.ts";
import { loadAgents, type LoadAgentsOptions, taskTool } from "../../../src/conversations/files/index.ts";
import { PortcullisError } from "../../../src/index.ts";
import { scriptedModel, type ScriptedStep } from "../../../src/runtime/testing.ts";
import { makeTool } from "../../gate/open-session.ts";
import { folderWith } from "./files.ts";
import { answered, runtimeWith } from "../../support/runtime.ts";

const tools = ["files.read", "files.grep", "pay"].map((name) => makeTool({ name, allowedCallers: ["direct"] }));
/** Answers with what it was told and may call. */
const ECHO: ScriptedStep = ({ opening, said }) => ({
  text: JSON.stringify([said[0], opening.tools.map(({ name }) => name), opening.instructions?.includes("Read all.")]),
});
const echo = (name: string) => scriptedModel([ECHO, ECHO], { name });
const load = (files: Readonly<Record<string, string>>, options: Partial<LoadAgentsOptions> = {}) =>
  loadAgents(folderWith(files), { tools, allowedCallers: ["direct"], ...options });
const file = (fields: string, text = "Read all.") => `---\n${fields}\n---\n\n${text}\n`;

test("each file is an agent with its text as instructions, and the tools that it names", async () => {
  const agents = await load(
    {
      "b.md": file("name: code-reviewer\ndescription: Reviews\ntools: files.*\ncolor: blue"),
      "a.md": file("name: payer\ndescription: Pays\ntools: [pay, files.read]"),
      "c.md": file("name: all\ndescription: All"),
      "d.md": file("name: none\ndescription: None\ntools: []"),
      "notes.txt": "no agent",
    },
    { model: echo("scripted:echo") },
  );
  expect(agents.map(({ name, description }) => [name, description])).toEqual([
    ["payer", "Pays"],
    ["code_reviewer", "Reviews"],
    ["all", "All"],
    ["none", "None"],
  ]);
  await using runtime = await runtimeWith(agents);
  const told = async (tool: string) => {
    const answer = await runtime.call({ tool, caller: "direct", input: { task: "go" } });
    return answer.ok ? (JSON.parse(answer.value as string) as unknown) : answer.message;
  };
  expect(await Promise.all(agents.map(({ name }) => told(name)))).toEqual([
    ["go", ["files.read", "pay"], true],
    ["go", ["files.read", "files.grep"], true],
    ["go", ["files.read", "files.grep", "pay"], true],
    ["go", [], true],
  ]);
});

test("agents inherit their caller's model, or have the model that the file names among the host's", async () => {
  const files = {
    "a.md": file("name: a\ndescription: A"),
    "b.md": file("name: b\ndescription: B\nmodel: inherit"),
    "c.md": file("name: c\ndescription: C\nmodel: fast"),
  };
  const task = taskTool(await load(files, { models: { fast: echo("scripted:fast") } }));
  const asking = scriptedModel(
    [
      ({ said, opening }) =>
        said[0] === "Ask."
          ? { calls: ["a", "b", "c"].map((agent) => ({ tool: "task", input: { agent, task: agent } })) }
          : { text: `${said[0]} inherits ${opening.instructions === undefined}` },
      ({ results }) => ({ text: results.map(({ text }) => JSON.parse(text) as string).join("; ") }),
    ],
    { name: "scripted:asking" },
  );
  const { answer } = await answered([task], { model: asking, task: "Ask.", programs: "none" });
  expect(answer).toBe('a inherits false; b inherits false; ["c",["files.read","files.grep","pay"],true]');
});

test("the options of all agents are those of the call", async () => {
  const [agent] = await load({ "a.md": file("name: a\ndescription: A") }, { concurrency: 9, timeoutMs: 77 });
  expect([agent?.concurrency, agent?.timeoutMs]).toEqual([9, 77]);
});

test.each([
  ["description: A", "a.md:1: the file has no name: write a line name: …"],
  ["name: a", "a.md:1: the file has no description"],
  ["name: [a]\ndescription: A", "a.md:2: name is one text, and no list."],
  ["name: toString\ndescription: A", "a.md:2: this name cannot be used"],
  ["name: a\ndescription: A\ncolor: [red]", "a.md:4: color is one text"],
  ["name: a\ndescription: A\ncolour: red", 'a.md:4: there is no field "colour", did you mean color?'],
  ["name: a\ndescription: A\ntools: files.write", 'a.md:4: there is no tool "files.write" that an agent may have'],
  ["name: a\ndescription: A\ntools: files.read,", "a.md:4: an item of tools is empty."],
  ["name: a\ndescription: A\nmodel: sonnet", "a.md:4: expected a model, one of inherit, anthropic:NAME, openai:NAME"],
])("%j is refused with file and line", async (fields, message) => {
  await expect(load({ "a.md": file(fields) })).rejects.toThrow(message);
  await expect(load({ "a.md": file(fields) })).rejects.toThrow(PortcullisError);
});

test("a model that the host has not listed is refused, also a provider's", async () => {
  const models = { fast: echo("scripted:fast") };
  const refused = (name: string) => load({ "a.md": file(`name: a\ndescription: A\nmodel: ${name}`) }, { models });
  await expect(refused("anthropic:x")).rejects.toThrow("a.md:4: expected a model, one of inherit, fast; got");
  await expect(refused("toString")).rejects.toThrow("a.md:4: expected a model");
});

test("two agents of one name, an agent without a text, and folders without agents are refused", async () => {
  const same = { "a.md": file("name: x-y\ndescription: A"), "b.md": file("name: x_y\ndescription: A") };
  await expect(load(same)).rejects.toThrow(/b\.md:2: .*a\.md has an agent x_y already: rename one\./);
  await expect(load({ "a.md": file("name: a\ndescription: A", " ") })).rejects.toThrow(
    "a.md:5: there is no text below the fields",
  );
  await expect(load({ "README.md": "# Agents\n" })).rejects.toThrow("README.md:1: the file has no name");
  await expect(load({ "a.md": "\n---\ntools: []\n---\nDo." })).rejects.toThrow(
    "a.md:2: fields begin in the first line: take out what is above ---.",
  );
  await expect(load({})).rejects.toThrow("has no files *.md.");
  await expect(load({ "a.md": "x".repeat(256 * 1024 + 1) })).rejects.toThrow("it has more than 262144 bytes.");
  await expect(loadAgents("/nowhere", { tools, allowedCallers: ["direct"] })).rejects.toThrow(
    "is no folder that can be read",
  );
  await expect(loadAgents("", { tools, allowedCallers: ["direct"] })).rejects.toThrow("is no path of a folder");
});

test("what is no regular file, or no text, is refused, and nothing waits for it", async () => {
  const folder = folderWith({ "latin.md": Buffer.from("---\nname: caf\xe9\n---\n", "latin1") });
  const path = (name: string) => join(folder, name);
  await expect(readAgentFile(path("latin.md"))).rejects.toThrow("it is no text in UTF-8.");
  execFileSync("mkfifo", [path("pipe.md")]);
  await expect(readAgentFile(path("pipe.md"))).rejects.toThrow("it is no regular file.");
  symlinkSync("/dev/zero", path("endless.md"));
  await expect(readAgentFile(path("endless.md"))).rejects.toThrow("it is no regular file.");
});

test("an error names a file in one line, whatever its name has", async () => {
  const name = "a\n\u001b[2Jb.md:1: all is well.md";
  await expect(load({ [name]: "---\nname: x\ndescription\n---" })).rejects.toThrow(
    "a\\u000a\\u001b[2Jb.md:1: all is well.md:3: expected a field",
  );
});

test("a line ends as in YAML, so that no field hides in another", async () => {
  const agents = await load({ "a.md": "---\rname: a\rdescription: A\rtools: []\r---\rRead.\r" });
  expect(agents.map(({ name, description }) => [name, description])).toEqual([["a", "A"]]);
});

test.each([
  [{ tools: undefined }, "loadAgents({ tools })"],
  [{ allowedCallers: [] }, "loadAgents({ allowedCallers })"],
  [{ model: "sonnet" }, "loadAgents({ model })"],
  [{ models: { fast: "sonnet" } }, "loadAgents({ models: { fast } }): expected a model"],
  [{ models: { inherit: "anthropic:x" } }, "and another name for it"],
  [{ instructions: "x" }, 'loadAgents: there is no option "instructions"'],
])("options %j are refused by name", async (options, message) => {
  await expect(load({ "a.md": file("name: a\ndescription: A") }, options as never)).rejects.toThrow(message);
});

test("a file that is a folder, or missing, is refused by its path", async () => {
  const folder = folderWith({});
  mkdirSync(join(folder, "x.md"));
  await expect(loadAgents(folder, { tools, allowedCallers: ["direct"] })).rejects.toThrow(
    "x.md: it is no regular file.",
  );
  await expect(readAgentFile(join(folder, "y.md"))).rejects.toThrow("y.md: there is no such file.");
  writeFileSync(join(folder, "z.md"), "text");
  expect((await readAgentFile(join(folder, "z.md"))).text).toBe("text");
});
