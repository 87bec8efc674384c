import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { deadline, ignore, Places, startWith, textOf } from "../../base/index.ts";
import { schemaReason } from "../../tools/schema.ts";

/** The native compiler of TypeScript 7, or why there is none. */
export type Compiler =
  | { readonly path: string; readonly version: string }
  | { readonly path: undefined; readonly why: string };

/** Processor time of one check in seconds, and its kilobytes of data. */
const [CPU_SECONDS, DATA_KILOBYTES] = [1, 384 * 1024];
const PRINTED = 256 * 1024;

/** No file but these is read: nothing is resolved, and the file of the package ends the search for one in outer folders. */
const SETTINGS = {
  compilerOptions: {
    noEmit: true,
    noResolve: true,
    types: [],
    lib: ["esnext"],
    target: "esnext",
    module: "esnext",
    moduleDetection: "legacy",
    strict: false,
    noImplicitAny: true,
    skipLibCheck: true,
  },
  files: ["tools.d.ts", "program.ts"],
};

/** How long a check waits for a place, in milliseconds: what others have checked may delay a program no longer. */
const PLACE_MS = 300;
/** Compilers at once, of which one tenant leaves another a place. */
const AT_ONCE = Math.max(2, availableParallelism());
const places = new Places({ atOnce: AT_ONCE, perTenant: AT_ONCE - 1 });

const INSTALL = "Run: npm install typescript@7";
/** An environment variable: if it is empty, no program is checked in this process. */
const TSC = "PORTCULLIS_TSC";
let found: Compiler | undefined;

export function findCompiler(): Compiler {
  if (process.env[TSC] === "") return { path: undefined, why: `the variable ${TSC} is empty. Unset it` };
  found ??= look();
  return found;
}

function look(): Compiler {
  try {
    const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
    const version = textOf(JSON.parse(readFileSync(manifest, "utf8")), "version") ?? "?";
    if (Number.parseInt(version, 10) < 7)
      return {
        path: undefined,
        why: `typescript ${version} is installed, and the check needs version 7 or later. ${INSTALL}`,
      };
    const native = `@typescript/typescript-${process.platform}-${process.arch}/package.json`;
    const folder = dirname(createRequire(manifest).resolve(native));
    return { path: join(folder, "lib", process.platform === "win32" ? "tsc.exe" : "tsc"), version };
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND";
    return { path: undefined, why: isMissing ? `typescript is not installed. ${INSTALL}` : schemaReason(error) };
  }
}

/**
 * What the compiler prints about a program, given as the body of a function; undefined if it printed nothing that can be
 * read: it took too long, too much memory or too many words, it failed, or it was not to be had.
 */
export async function compile(
  path: string,
  program: string,
  declarations: string,
  { tenant, signal }: { readonly tenant: string; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const leave = await places.take(tenant, AbortSignal.any([signal, deadline(PLACE_MS)]));
  if (!leave) return undefined;
  const folder = await mkdtemp(join(tmpdir(), "portcullis-check-")).catch(() => undefined);
  try {
    if (folder === undefined) return undefined;
    const files = {
      "package.json": "{}",
      "tsconfig.json": JSON.stringify(SETTINGS),
      "tools.d.ts": declarations,
      "program.ts": `${OPENING}${program}\n}\n`,
    };
    await Promise.all(
      Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text, { mode: 0o600 })),
    );
    return await printedBy(path, folder, signal);
  } catch {
    return undefined;
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(ignore);
    leave();
  }
}

/** It stands before what a program begins with: comments there could name files, and switch the check off. */
const OPENING = "async function program() {\n";
export const LINES_BEFORE = 1;

/** The shell's bounds hold also if this process ends. It writes no file, and gets nothing of the host's environment and files. */
const BOUNDED = `ulimit -c 0; ulimit -f 0; ulimit -t ${CPU_SECONDS}; ulimit -d ${DATA_KILOBYTES}; exec "$0" "$@"`;

function printedBy(path: string, folder: string, signal: AbortSignal): Promise<string | undefined> {
  const args = ["-p", "tsconfig.json", "--pretty", "false", "--singleThreaded"];
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const child = startWith(["ignore", "pipe", "ignore"], (stdio) =>
    spawn("/bin/sh", ["-c", BOUNDED, path, ...args], { cwd: folder, env: {}, signal, killSignal: "SIGKILL", stdio }),
  );
  let printed = "";
  const end = () => {
    // What it has started may go on to print.
    child.stdout?.destroy();
    child.kill("SIGKILL");
  };
  child.stdout?.setEncoding("utf8").on("data", (part: string) => {
    printed += part;
    if (printed.length > PRINTED) end();
  });
  child.once("error", () => {
    end();
    resolve(undefined);
  });
  child.once("close", (code) => {
    // With errors to tell it ends as 1 or 2.
    const isDone = code === 0 || ((code === 1 || code === 2) && printed !== "");
    resolve(isDone ? printed : undefined);
  });
  return promise;
}
