import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "vitest";
import { holdSentences } from "../support/sentences.ts";
import { newFolder } from "../support/new-folder.ts";
import { fixtures, portcullis } from "./command.ts";

const folder = newFolder();
const TOOLS = ["--tools", join(fixtures, "tools.ts")];
const JOURNAL = ["--journal", join(folder, "j.db")];

/** Commands that are refused, each for another reason, and what is on their standard input. */
const REFUSED: readonly (readonly [input: string, ...args: string[]])[] = [
  ["", "none"],
  ["", "run"],
  ["return 1", "run", "-", ...TOOLS, "--limit", "cpuMs=0"],
  ["return 1", "run", "-", ...TOOLS, "--artifacts", join(folder, "program.py")],
  ["return 1", "run", "-", ...TOOLS, ...JOURNAL, "--corrects", "never"],
  ["x".repeat(40_000), "run", "-", ...TOOLS],
  ["", "run", join(folder, "program.py"), ...TOOLS],
  ["", "run", join(folder, "none.js"), ...TOOLS],
  ["", "tools", "--tools", join(folder, "tools.tss")],
  ["", "tools", "zeppelin", ...TOOLS],
  ["", "ask", "x", "--model", "none:m", ...TOOLS],
  ["", "worker", "--journal", "journal.db"],
  ["", "worker", "--journal", "postgres://a@b/c", "--host", "0.0.0.0"],
  ["", "worker", "--journal", "postgres://a@b/c", "--metrics", "0", "--host", "0.0.0.0"],
  ["", "serve", "--workers", "elsewhere", "--port", "0"],
  ["\n{\n", "journal", "import", ...JOURNAL],
  ["", "show", "never", ...JOURNAL],
  ["", "show", "never", ...JOURNAL, "--json", "--follow"],
  ["", "decide", "never", "1", "--allow", ...JOURNAL],
  ["", "init", folder],
];

test("each command that is refused says why and what to do in one text", async () => {
  for (const name of ["program.py", "tools.ts", "program.js"]) writeFileSync(join(folder, name), "");
  await holdSentences(
    REFUSED.map(([input, ...args]) => async () => {
      const { code, stdout, stderr } = await portcullis(args, input);
      return `exit ${code}: ${stderr}${stdout}`;
    }),
  );
});
