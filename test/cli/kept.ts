import { openSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
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

export interface Answered {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

// A process that runs the commands of one file of tests, one after the other, as `main` of the command line: node starts, and
// loads the modules, once. Modules are loaded by node, as users' are, and not by the runner of the tests.

/** Not a file: commands read it to its end, like a pipe. */
const fd = openSync("/dev/null", "r");
/** Examples start the command line again by the path of the process. */
process.argv[1] = fileURLToPath(new URL("../../src/cli.ts", import.meta.url));

function collecting() {
  const chunks: Buffer[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk);
      done();
    },
  });
  return { stream, text: () => Buffer.concat(chunks).toString() };
}

async function run({ args, input, cwd, env }: Asked): Promise<Answered> {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  const [stdout, stderr] = [collecting(), collecting()];
  const stdin = Object.assign(Readable.from([Buffer.from(input, "base64")]), { fd });
  const streams = { stdin, stdout: stdout.stream, stderr: stderr.stream } as unknown as Streams;
  const code = await main(args, streams);
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

process.on("message", (asked: Asked) => void run(asked).then((answered) => process.send?.(answered)));
process.on("disconnect", () => process.exit());
