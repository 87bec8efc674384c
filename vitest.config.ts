import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import packageJson from "./package.json" with { type: "json" };
import { INTEGRATIONS } from "./test/support/integrations.ts";

/**
 * A file that fakes modules leaves traces in what it has loaded. One that counts engines, memory or the timers of the package's
 * clock counts those of its whole process.
 */
const JUDGES_PROCESS =
  /\bvi\.(?:mock|doMock|stubGlobal)\(|\benginesOf\(\)|\b(?:growthOf|memoryUsage|memoryHeld|collectGarbage|HostWatch)\(|\bclock\.timers\b/;

const matching = (paths: string, pattern: RegExp) =>
  globSync(paths).filter((path) => pattern.test(readFileSync(path, "utf8")));

/**
 * Tests that need a process of their own: of what a whole process holds, loads or is ended by. The other files follow each other
 * in one process, which loads once what they share.
 */
const OWN_PROCESS = [
  "test/{package,packagers,durability,gate/telemetry}/**/*.test.ts",
  "test/gate/session.test.ts",
  // It draws pictures by vega-lite, which gives sets a form in JSON.
  "test/readme.test.ts",
  // Its programs crash the type stripper, of which a process has one.
  "test/executions/prepare/thread/parse-program.test.ts",
  // Tests that share the Docker daemon, each with containers of its own.
  "test/cli/docker.test.ts",
  ...matching("test/{bridge,sandboxes,serve}/**/*.test.ts", /docker-engine\.ts"/),
  ...matching("test/**/*.test.ts", JUDGES_PROCESS),
];

/**
 * Three runs, told apart by the names of files. `x.test.ts` is in `make test` and `make test-all`, `x.all.test.ts` in
 * `make test-all` alone, and `x.machine.test.ts` in `make test-machine`, which measures this machine: one file at a time.
 */
const RUN = process.env.PORTCULLIS_TESTS ?? "test";
const MACHINE = "test/**/*.machine.test.ts";
const OF_OTHER_RUNS = RUN === "all" ? [MACHINE] : [MACHINE, "test/**/*.all.test.ts"];

/** Of `make test` and `make test-all`, where the packages are installed that they are about. */
const OF_INTEGRATIONS = INTEGRATIONS ? [] : ["test/**/*.integration.test.ts"];
if (!INTEGRATIONS) process.stderr.write("No tests of integrations: make packages installs what they need.\n");

const NOT_TESTS = ["**/node_modules/**", ...OF_INTEGRATIONS, ...(RUN === "machine" ? [] : OF_OTHER_RUNS)];

// Processes of tests load the same packages, and start the command line a hundred times: node keeps what it compiled.
process.env.NODE_COMPILE_CACHE = fileURLToPath(new URL("node_modules/.cache/node-compile", import.meta.url));

/** Files that take longest begin first, so that none runs alone at the end. */
const LONG =
  /\.all\.test\.ts$|\/(?:page\/page|package\/package|gateway\/(?:deaths|mutated-requests)|executions\/(?:execute(?:-python)?|corrected\.property|evictions|streams-kept)|durability\/every-cut|serve\/load|fleet\/fleet|clients\.integration)\.test\.ts$/;

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLate = ({ moduleId }: TestSpecification) => Number(!LONG.test(moduleId));
    return (await super.sort.call(this, files)).toSorted((one, other) => isLate(one) - isLate(other));
  }
}

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Files of tests that are run in one way. */
function project(name: string, { exclude = [], ...test }: NonNullable<TestProjectInlineConfiguration["test"]>) {
  return {
    extends: true as const,
    test: {
      // Tests wait for processes, timers, containers and browsers for half of their time.
      maxWorkers: availableParallelism() + 4,
      ...test,
      name,
      exclude: [...NOT_TESTS, ...exclude],
    },
  };
}

export default defineConfig({
  // The examples import this package by its name, as its users do.
  resolve: {
    alias: Object.entries(packageJson.exports).flatMap(([path, entry]) =>
      typeof entry === "string"
        ? []
        : [{ find: new RegExp(`^portcullis${path.slice(1)}$`), replacement: source(entry["portcullis-source"]) }],
    ),
  },
  test: {
    globalSetup: ["test/docker-support/stop-engine.ts", "test/support/tell-started.ts"],
    setupFiles: ["test/support/count-started.ts"],
    pool: "forks",
    // The check of a program is a process: tests of the check set the variable again.
    env: { PORTCULLIS_TSC: "" },
    // What a test makes is garbage soon: collected less often, it costs a tenth of the processor time less.
    execArgv: ["--max-semi-space-size=64"],
    sequence: { sequencer: LongestFirst },
    // Bounds for what never comes: on a busy machine all else takes a part of them. A test may wait more than once.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000, interval: 20 } },
    projects:
      RUN === "machine"
        ? [project("machine", { include: [MACHINE], maxWorkers: 1 })]
        : [
            project("processes", { include: OWN_PROCESS }),
            project("rooms", { include: ["test/**/*.test.ts"], exclude: OWN_PROCESS, isolate: false }),
          ],
  },
});
