import { openSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { fileURLToPath } from "node:url";
import { createIsolateSandbox } from "portcullis/sandboxes";
import { main } from "../../src/cli/main.ts";
import type { Streams } from "../../src/cli/terminal/standard-streams.ts";

/** A command to run: its arguments, what stands on its standard input, and the folder and variables it works in. */
export interface Asked {
  readonly args: readonly string[];
  /** In base64. */
  readonly input: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** What a command has written: whole characters. */
export interface WrittenText {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
}

/** While a command runs, what it writes; at its end, its exit code. */
export type Said = WrittenText | { readonly code: number };

// A process that runs the commands of tests, one after the other, as `main` of the command line: node starts, and loads the
// modules, once. Modules are loaded by node, as users' are, and not by the runner of the tests.

// Sandboxes with equal options share their engines: those of this one outlive each command, and serve the next.
void createIsolateSandbox().pool;

/** Not a file: commands read it to its end, like a pipe. */
const fd = openSync("/dev/null", "r");
/** Examples start the command line again by the path of the process. */
process.argv[1] = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));

const say = (said: Said) => process.send?.(said) ?? false;

/** What tools write to the process is on the command's standard error, as if it had the process for itself. */
process.stderr.write = (text: string | Uint8Array) => say({ stream: "stderr", text: Buffer.from(text).toString() });

/** A stream whose chunks are sent as they are written. */
function sending(stream: WrittenText["stream"]): Writable {
  const decoder = new StringDecoder();
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      say({ stream, text: decoder.write(chunk) });
      done();
    },
  });
}

async function run({ args, input, cwd, env }: Asked): Promise<void> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  const stdin = Object.assign(Readable.from([Buffer.from(input, "base64")]), { fd });
  const streams = { stdin, stdout: sending("stdout"), stderr: sending("stderr") } as unknown as Streams;
  say({ code: await main(args, streams) });
}

process.on("message", (asked: Asked | { readonly signal: NodeJS.Signals }) => {
  if ("signal" in asked) process.emit(asked.signal, asked.signal);
  else void run(asked);
});
process.on("disconnect", () => process.exit());
