import { execFileSync, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";

/** What `make test` runs, and what `make test-all` runs. */
const SUITES = { test: {}, "test-all": { PORTCULLIS_TESTS: "all" } } as const;
export type Suite = keyof typeof SUITES;

export interface Run {
  readonly failed: readonly string[];
  readonly milliseconds: Readonly<Record<string, number>>;
  /** The first test that failed. */
  readonly test: string;
}

interface TestedFile {
  readonly name: string;
  readonly status: string;
  readonly startTime: number;
  readonly endTime: number;
  readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
}

/** The code under test, and each process that it starts, knows which file of tests runs. */
const SETUP = `import { expect } from "vitest";
globalThis.mutantsTest = process.env.MUTANTS_TEST = expect.getState().testPath;
`;
const CONFIG = `import config from "./vitest.config.ts";
for (const { test } of config.test.projects) Object.assign(test, { maxWorkers: 2, setupFiles: ["./mutants.setup.ts"] });
export default config;
`;

/** A copy of a tree as git sees it, with its packages, in which sources are changed and tests are run. */
export class Copy {
  readonly root = mkdtempSync(join(tmpdir(), "portcullis-mutants-"));
  readonly #vitest = join(this.root, "node_modules/.bin/vitest");
  readonly #report = join(this.root, "report.json");

  constructor(tree: string) {
    process.once("exit", () => rmSync(this.root, { recursive: true, force: true }));
    const listed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
      cwd: tree,
      encoding: "utf8",
    });
    for (const file of listed.split("\0").filter(Boolean)) {
      mkdirSync(dirname(join(this.root, file)), { recursive: true });
      cpSync(join(tree, file), join(this.root, file));
    }
    for (const file of listed.split("\0").filter((name) => /(?:^|\/)package\.json$/.test(name)))
      this.#copyPackages(resolve(tree, dirname(file), "node_modules"), join(this.root, dirname(file)));
    rmSync(join(this.root, "node_modules/.cache"), { recursive: true, force: true });
    this.write("mutants.setup.ts", SETUP);
    this.write("mutants.config.ts", CONFIG);
  }

  /** Links are made at once, but not between any two folders. */
  #copyPackages(from: string, to: string): void {
    if (!existsSync(from)) return;
    if (spawnSync("cp", ["-al", from, to]).status !== 0) execFileSync("cp", ["-a", from, to]);
  }

  read = (file: string) => readFileSync(join(this.root, file), "utf8");
  write = (file: string, text: string) => writeFileSync(join(this.root, file), text);
  #optionsFor = (suite: Suite) => ({ cwd: this.root, env: { ...process.env, ...SUITES[suite] } });

  /** The files of tests of a suite. */
  list(suite: Suite): string[] {
    const listed = execFileSync(this.#vitest, ["list", "--filesOnly", "--json"], this.#optionsFor(suite));
    return (JSON.parse(String(listed)) as { readonly file: string }[]).map(({ file }) => relative(this.root, file));
  }

  /** Runs files of tests. If it fails and nobody says in which, it fails in all of them. */
  async run(files: readonly string[], suite: Suite, limitMs: number, ...options: readonly string[]): Promise<Run> {
    rmSync(this.#report, { force: true });
    const reporter = ["--config=mutants.config.ts", "--reporter=json", `--outputFile.json=${this.#report}`];
    const child = spawn(this.#vitest, ["run", ...reporter, ...options, ...files], {
      ...this.#optionsFor(suite),
      stdio: "ignore",
      detached: true,
    });
    const end = () => child.pid !== undefined && child.exitCode === null && process.kill(-child.pid, "SIGKILL");
    process.once("exit", end);
    const limit = setTimeout(end, limitMs);
    const status = await new Promise((ended) => child.once("close", ended));
    clearTimeout(limit);
    process.off("exit", end);
    return this.#runOf(files, status === 0);
  }

  #runOf(files: readonly string[], passed: boolean): Run {
    const tested = this.#tested();
    const failed = tested.filter(({ status }) => status === "failed");
    const tests = failed.flatMap(({ assertionResults }) => assertionResults);
    return {
      failed: failed.length > 0 ? failed.map(({ name }) => name) : passed ? [] : files,
      milliseconds: Object.fromEntries(tested.map((file) => [file.name, Math.round(file.endTime - file.startTime)])),
      test:
        tests.find(({ status }) => status === "failed")?.fullName ?? "outside of tests, or in a run that did not end",
    };
  }

  #tested(): TestedFile[] {
    try {
      const { testResults } = JSON.parse(readFileSync(this.#report, "utf8")) as { testResults: TestedFile[] };
      return testResults.map((file) => ({ ...file, name: relative(this.root, file.name) }));
    } catch {
      return [];
    }
  }
}
