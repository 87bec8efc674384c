import { expect, test } from "vitest";
import { portcullis } from "./command.ts";

const namesIn = (help: string) => [...help.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = ""]) => name);

/** The help of each command, by its name: also of those within another. */
async function helpOfAll(): Promise<ReadonlyMap<string, string>> {
  const all = new Map<string, string>();
  const take = async (above: readonly string[]) => {
    const { stdout } = await portcullis([...above, "--help"]);
    if (above.length > 0) all.set(above.join(" "), stdout);
    const [, commands = ""] = /\n(?:Commands|Start):\n([^]*?)\n(?:Example|Exit codes):/.exec(stdout) ?? [];
    for (const name of namesIn(commands)) if (name !== "help") await take([...above, name]);
  };
  await take([]);
  return all;
}

test("the help of the program has the commands in groups with an example each, and each command's help has its own", async () => {
  const root = (await portcullis(["--help"])).stdout;
  const groups = [...root.matchAll(/^([A-Z][a-z ]+):$/gm)].map(([, group = ""]) => group);
  const named = "Start, Run programs, Tools, Serve, Measure, Look at executions, Go on with executions, Set up";
  expect(groups).toEqual(expect.arrayContaining(named.split(", ")));
  const all = await helpOfAll();
  expect([...all.keys()]).toEqual(
    expect.arrayContaining(["init", "run", "show", "key add", "journal prune", "image build"]),
  );
  // Twenty that do something, and three that have such.
  expect(all.size).toBe(23);
  for (const [name, help] of all) {
    const [, example = ""] = /\nExample:\n {2}(.+)\n/.exec(help) ?? [];
    // Lists and records are empty by default.
    expect(help, name).not.toMatch(/default:\s+[[{]/);
    expect(example, name).toMatch(new RegExp(`^portcullis ${name}(?: |$)|^portcullis ${name} `));
    // The options of an example are options of its command.
    const options = ["key", "journal", "image"].includes(name)
      ? (all.get(example.split(" ").slice(1, 3).join(" ")) ?? "")
      : help;
    for (const [option] of example.matchAll(/--[a-z-]+/g)) expect(options, example).toContain(`${option} `);
    const above = name.includes(" ") ? (all.get(name.split(" ")[0] ?? "") ?? "") : root;
    const [, below = ""] = above.split(new RegExp(`^ {2}${name.split(" ").at(-1)} `, "m"));
    expect(below.slice(0, below.search(/^ {2}[a-z]+ /m)), name).toContain(` $ ${example}\n`);
  }
}, 120_000);

test.each([
  [["help", "chat"], "chat"],
  [["help", "key"], "key"],
  [["key", "--help"], "key"],
])("%j is the help of that command", async (args, name) => {
  const { code, stdout, stderr } = await portcullis(args);
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(new RegExp(`^Usage: portcullis ${name} `));
});
