import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Ran } from "./project.ts";

interface Before {
  readonly project: string;
  readonly args: readonly string[];
  /** The commands before this one. */
  readonly earlier: readonly Ran[];
  readonly run: (args: readonly string[]) => Promise<Ran>;
}

/** A command as it is called once; its exit code is 0 where none is named. */
export interface CommandCase {
  readonly args: readonly string[];
  readonly code?: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly stdout?: RegExp;
  readonly stderr?: RegExp;
  /** Makes what the command needs, and returns its arguments. */
  readonly before?: (given: Before) => Promise<readonly string[]>;
}

const TOOLS = ["--tools", "tools.ts"];
const JOURNAL = ["--journal", "work.db"];
/** The execution that waits for a decision. */
const PAYS = "pays";

const PROGRAMS: Readonly<Record<string, string>> = {
  "add.ts": "const sum: number = await tools.math.add({ a: 1, b: 2 }); return sum;",
  "pay.js": "return await tools.bank.pay({ euros: 4 });",
};

/** In this order: later ones use what earlier ones have left. */
export const COMMANDS: readonly CommandCase[] = [
  {
    args: ["run", "add.ts", ...TOOLS, ...JOURNAL],
    stdout: /^3\n$/,
    before: async ({ project, args }) => {
      for (const [file, text] of Object.entries(PROGRAMS)) writeFileSync(join(project, file), text);
      return args;
    },
  },
  { args: ["run", "pay.js", ...TOOLS, ...JOURNAL, "--approve", "later", "--id", PAYS], code: 6 },
  { args: ["show", "--open", ...JOURNAL], stdout: /pays/ },
  { args: ["show", PAYS, ...JOURNAL], stdout: /bank\.pay/ },
  {
    args: ["decide", PAYS, "CALL", "--allow", "--by", "ann", ...JOURNAL],
    before: async ({ args, run }) => {
      const { stdout } = await run(["show", PAYS, "--json", ...JOURNAL]);
      const [, call = "1"] = /"callId": ?"([^"]+)"/.exec(stdout) ?? [];
      return args.map((arg) => (arg === "CALL" ? call : arg));
    },
  },
  { args: ["resume", PAYS, ...TOOLS, ...JOURNAL], stdout: /^\{"paid":4\}\n$/ },
  { args: ["resume", ...TOOLS, ...JOURNAL] },
  { args: ["show", PAYS, "--follow", ...JOURNAL] },
  ...[["chat"], ["ask", "How many?"]].map((asked) => ({
    args: [...asked, "--model", "anthropic:m", ...TOOLS],
    env: { ANTHROPIC_API_KEY: "none" },
    code: 5,
    stderr: /npm install @anthropic-ai\/sdk/,
  })),
  { args: ["journal", "check", ...JOURNAL] },
  { args: ["journal", "export", ...JOURNAL], stdout: /bank\.pay/ },
  { args: ["journal", "prune", "--older-than", "30d", ...JOURNAL] },
  { args: ["tools", ...TOOLS], stdout: /math\.add/ },
  { args: ["tools", ...TOOLS, "--stubs"], stdout: /tools\.math\.add\(input/ },
  { args: ["tools", "sum", "of", "numbers", ...TOOLS], stdout: /math\.add/ },
  { args: ["key", "add", "ann", "--keys", "keys.json"], stdout: /^[\w-]{43}\n$/ },
  { args: ["doctor"], stdout: /isolat/ },
  { args: ["demo", "licenses"], stdout: /✓ right/ },
  ...["refunds", "desk", "read-file", "code", "team"].map((example) => ({ args: ["demo", example] })),
  { args: ["demo"], stdout: /✓ right[^]*✓ right/ },
  {
    args: ["init", "my-tools"],
    stdout: /^Written to my-tools: tools\.ts, [^]*\n {2}npx portcullis run program\.js --tools \.\/tools\.ts /,
  },
  { args: ["bench", "licenses"], stdout: /SDK is not installed: anthropic, gemini/ },
  {
    args: ["worker", ...TOOLS, "--journal", "worker.db"],
    code: 2,
    stderr: /A worker needs the journal of its fleet, in PostgreSQL/,
  },
  { args: ["image", "build"], code: 5 },
];

/** Commands that stay until they are told to end: the doors. */
export const FINISHED: readonly string[] = ["serve", "mcp"];
