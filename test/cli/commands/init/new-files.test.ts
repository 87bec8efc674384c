import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { writeNewFiles } from "../../../../src/cli/commands/init/new-files.ts";

const root = mkdtempSync(join(realpathSync(tmpdir()), "portcullis-init-"));
afterAll(() => rmSync(root, { recursive: true }));
let folder = "";
beforeEach(() => {
  folder = join(mkdtempSync(join(root, "case-")), "mine");
});

const FILES = [
  { name: "tools.ts", text: "tools" },
  { name: "program.js", text: "program" },
  { name: "package.json", text: "package", mayExist: true },
];

function failure(work: () => unknown) {
  try {
    work();
  } catch (error) {
    const { exitCode, message } = error as { readonly exitCode: number; readonly message: string };
    return { exitCode, message: message.replaceAll(folder, "FOLDER") };
  }
  throw new Error("it did not fail");
}

test("writes its files, and makes the folder and those above it", () => {
  const deep = join(folder, "a/b");
  expect(writeNewFiles(deep, FILES)).toEqual(["tools.ts", "program.js", "package.json"]);
  expect(readdirSync(deep).toSorted()).toEqual(["package.json", "program.js", "tools.ts"]);
  expect(readFileSync(join(deep, "tools.ts"), "utf8")).toBe("tools");
});

test("names each file that is there already, and writes none, also for a link that leads nowhere", () => {
  mkdirSync(folder);
  symlinkSync("nowhere", join(folder, "tools.ts"));
  writeFileSync(join(folder, "program.js"), "mine");
  expect(failure(() => writeNewFiles(folder, FILES))).toEqual({
    exitCode: 2,
    message: expect.stringMatching(/^init: tools\.ts, program\.js .*: portcullis init FOLDER-2$/),
  });
  expect(readdirSync(folder).toSorted()).toEqual(["program.js", "tools.ts"]);
  expect(readFileSync(join(folder, "program.js"), "utf8")).toBe("mine");
  expect(existsSync(join(folder, "nowhere"))).toBe(false);
});

test.each([
  ["mine", "mine-4"],
  ["mine/", "mine-4"],
  ["mine/.", "mine/my-tools"],
  ["other", "other-2"],
])("the folder that is suggested in place of %s is not there yet", (path, suggested) => {
  for (const name of ["mine", "mine-2", "mine-3", "other"]) mkdirSync(join(folder, name), { recursive: true });
  const taken = `${folder}/${path}`;
  writeFileSync(join(taken, "tools.ts"), "theirs");
  expect(failure(() => writeNewFiles(taken, FILES)).message).toContain(`: portcullis init FOLDER/${suggested}`);
  expect(writeNewFiles(join(folder, suggested), FILES)).toContain("tools.ts");
});

test("keeps a file that may be there", () => {
  mkdirSync(folder);
  writeFileSync(join(folder, "package.json"), "mine");
  expect(writeNewFiles(folder, FILES)).toEqual(["tools.ts", "program.js"]);
  expect(readFileSync(join(folder, "package.json"), "utf8")).toBe("mine");
});

describe("files that come into being meanwhile", () => {
  /** Another process writes its file after the command has looked for files, before it writes its second one. */
  const files = (name: string) => [
    FILES[0] as (typeof FILES)[0],
    {
      ...(FILES.find((file) => file.name === name) as (typeof FILES)[0]),
      get text() {
        writeFileSync(join(folder, name), "theirs");
        return "mine";
      },
    },
  ];

  test("one that may not exist stays as it is, and none of the command's own stays", () => {
    expect(failure(() => writeNewFiles(folder, files("program.js"))).message).toMatch(
      /^init: program\.js is there alre/,
    );
    expect(readdirSync(folder)).toEqual(["program.js"]);
    expect(readFileSync(join(folder, "program.js"), "utf8")).toBe("theirs");
  });

  test("one that may exist stays as it is", () => {
    expect(writeNewFiles(folder, files("package.json"))).toEqual(["tools.ts"]);
    expect(readFileSync(join(folder, "package.json"), "utf8")).toBe("theirs");
  });
});

describe("a path that is no folder of one's own is refused", () => {
  test.each(["link", "link/below"])("through a link: %s", (path) => {
    const place = `${folder}-place`;
    mkdirSync(place);
    symlinkSync(place, `${folder}-link`);
    const { exitCode, message } = failure(() => writeNewFiles(`${folder}-${path}`, FILES));
    const real = path.replace("link", "place");
    expect([exitCode, message]).toEqual([
      2,
      expect.stringMatching(new RegExp(`^init: FOLDER-${path} .*FOLDER-link .*: portcullis init FOLDER-${real}$`)),
    ]);
    expect(readdirSync(place)).toEqual([]);
  });

  test("a link that leads nowhere", () => {
    symlinkSync("nowhere", folder);
    expect(failure(() => writeNewFiles(folder, FILES)).message).toContain("leads through the link FOLDER");
  });

  test.each(["", "/below"])("a file, %j", (below) => {
    writeFileSync(folder, "mine");
    expect(failure(() => writeNewFiles(`${folder}${below}`, FILES))).toEqual({
      exitCode: 2,
      message: expect.stringContaining(`FOLDER${below} is no folder`),
    });
    expect(readFileSync(folder, "utf8")).toBe("mine");
  });

  test.skipIf(process.platform !== "linux")("one that cannot be written", () => {
    const { exitCode, message } = failure(() => writeNewFiles("/proc/portcullis", FILES));
    expect([exitCode, message]).toEqual([5, expect.stringContaining("/proc/portcullis cannot be written")]);
  });

  test.each(["", "new\nline", "\u001b[2J", "ann\u202egnp"])("a name that cannot be printed: %j", (name) => {
    expect(failure(() => writeNewFiles(name, FILES))).toMatchObject({ exitCode: 2 });
  });
});
