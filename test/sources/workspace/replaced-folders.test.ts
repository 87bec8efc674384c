import { existsSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { workspaceTools } from "../../../src/sources/workspace/index.ts";
import { Folder } from "./folder.ts";

/** Shows the folder `src` of the workspace, or a link to a folder beside the workspace in its place. */
let show: (what: "folder" | "link") => void = () => {};

// Each look at a path finds the folder, and whatever is opened or compared by its path lies behind the link.
vi.mock("node:fs/promises", async (original) => {
  const real = await original<typeof import("node:fs/promises")>();
  const finding = <Result>(what: "folder" | "link", look: () => Result): Result => {
    show(what);
    return look();
  };
  return {
    ...real,
    realpath: async (path: string) => finding("folder", () => real.realpath(path)),
    open: async (path: string, flags: number) => finding("link", () => real.open(path, flags)),
    opendir: async (path: string) => finding("link", () => real.opendir(path)),
    lstat: async (path: string, options: object) =>
      finding(path.endsWith("src") ? "folder" : "link", () => real.lstat(path, options)),
  };
});

function swapped(): Folder {
  const folder = new Folder({ "src/a.txt": "inside\n" });
  const [place, link, aside] = ["src", ".link", ".aside"].map((name) => join(folder.root, name));
  mkdirSync(join(folder.outside, "other"));
  writeFileSync(join(folder.outside, "other/a.txt"), "SECRET\n");
  writeFileSync(join(folder.outside, "other/SECRET.txt"), "");
  symlinkSync(join(folder.outside, "other"), link!);
  show = (what) => {
    if ((what === "link") === existsSync(aside!)) return;
    if (what === "link") {
      renameSync(place!, aside!);
      renameSync(link!, place!);
    } else {
      renameSync(place!, link!);
      renameSync(aside!, place!);
    }
  };
  return folder;
}

test.each([
  ["read_file", { path: "src/a.txt" }],
  ["view_image", { path: "src/a.txt" }],
  ["grep_files", { path: "src/a.txt", pattern: "." }],
  ["grep_files", { path: "src", pattern: "." }],
  ["list_files", { path: "src" }],
  ["list_files", { path: "src", files: "**" }],
])(
  "%s gives nothing from behind a link that stands in for a folder whenever something is opened",
  async (tool, input) => {
    await using folder = swapped();
    expect(workspaceTools({ root: folder.root }).map(({ name }) => name)).toContain(tool);
    expect(JSON.stringify(await folder.call(tool, input))).not.toContain("SECRET");
  },
);
