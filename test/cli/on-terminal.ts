import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** `script` of util-linux gives a command a pseudo-terminal; that of macOS takes other options. */
export const hasScript =
  spawnSync("script", ["--version"], { encoding: "utf8" }).stdout?.includes("util-linux") ?? false;

/** A terminal with colours, wherever the tests run: node shows none where `CI` is set. */
const TERMINAL = { TERM: "xterm-256color", CI: undefined, NO_COLOR: undefined, FORCE_COLOR: undefined };

/** Bound for a command, which takes a few seconds. */
const LATE_MS = 50_000;

export interface TerminalOptions {
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the command line on a pseudo-terminal of 80 columns. Each answer is typed once its text has been shown. */
export async function onTerminal(
  args: readonly string[],
  answers: readonly (readonly [string, string])[],
  { rows = 24, env = {} }: TerminalOptions = {},
) {
  const command = [process.execPath, "--conditions=portcullis-source", `${root}src/cli.ts`, ...args];
  const quoted = command.map((word) => `'${word.replaceAll("'", String.raw`'\''`)}'`).join(" ");
  const child = spawn("script", ["-qec", `stty cols 80 rows ${rows}; ${quoted}`, "/dev/null"], {
    cwd: root,
    env: { ...process.env, ...TERMINAL, ...env },
  });
  let shown = "";
  let place = 0;
  let from = 0;
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    shown += chunk;
    for (;;) {
      const [text, typed] = answers[place] ?? [];
      const at = text === undefined ? -1 : shown.indexOf(text, from);
      if (text === undefined || typed === undefined || at < 0) return;
      place += 1;
      from = at + text.length;
      child.stdin.write(typed);
    }
  });
  // What a test waits for may never be shown: then it fails with what was.
  let isLate = false;
  const late = setTimeout(() => {
    isLate = true;
    child.kill();
  }, LATE_MS);
  const [code] = (await once(child, "close")) as [number];
  clearTimeout(late);
  if (isLate) throw new Error(`${JSON.stringify(answers[place])} was not reached:\n${shown}`);
  return { code, shown };
}

/** What one sequence of a terminal does: `\u001b[2A`. */
const SEQUENCE = /\u001b\[([?\d;]*)([A-Za-z])|\u001b./g;

/**
 * The lines that stand on a terminal of 80 columns after this text, those that have left it included. Knows the sequences
 * that the command line and node's readline write, and throws for others, which must have come from elsewhere.
 */
export function screenOf(shown: string): readonly string[] {
  const lines: string[][] = [[]];
  let [row, column] = [0, 0];
  const at = () => (lines[row] ??= []);
  const put = (text: string) => {
    for (const character of text) {
      if (character === "\r") column = 0;
      else if (character === "\b") column = Math.max(0, column - 1);
      else if (character === "\n") row += 1;
      else if (character === "\u0007") continue;
      else {
        if (column >= 80) [row, column] = [row + 1, 0];
        at()[column] = character;
        column += 1;
      }
      at();
    }
  };
  let from = 0;
  for (const { 0: sequence, 1: given = "", 2: kind, index } of shown.matchAll(SEQUENCE)) {
    put(shown.slice(from, index));
    from = index + sequence.length;
    const number = Number(given.split(";")[0] || 1);
    if (kind === "A") row = Math.max(0, row - number);
    else if (kind === "B") row += number;
    else if (kind === "C") column += number;
    else if (kind === "D") column = Math.max(0, column - number);
    else if (kind === "G") column = number - 1;
    else if (kind === "J") [lines.length, at().length] = [row + 1, Math.min(column, at().length)];
    else if (kind === "K") at().length = given === "2" ? 0 : Math.min(column, at().length);
    else if (kind !== "m" && !/^\?(?:2004|25|7)$/.test(given)) throw new Error(`It wrote ${JSON.stringify(sequence)}.`);
    at();
  }
  put(shown.slice(from));
  // A cell that nothing was written to is empty.
  return lines.map((line) =>
    Array.from(line, (character: string | undefined) => character ?? " ")
      .join("")
      .trimEnd(),
  );
}
