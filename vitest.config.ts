import { globSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import packageJson from "./package.json" with { type: "json" };

/**
 * A file that fakes timers or modules leaves traces in the modules that it has loaded: their timers are never due. One that
 * counts engines or memory counts those of its whole process. `command.ts` keeps a process, which ends with the first file.
 */
const JUDGES_PROCESS =
  /\bvi\.(?:useFakeTimers\(|(?:mock|doMock|stubGlobal|stubEnv)\(|spyOn\(process\b)|\b(?:enginesOf|growthOf|memoryUsage|memoryHeld|collectGarbage|HostWatch)\(|\/command\.ts"/;

const matching = (paths: string, pattern: RegExp) =>
  globSync(paths).filter((path) => pattern.test(readFileSync(path, "utf8")));

/**
 * Tests that need a process of their own: of the commands, which set up their process, and of what a whole process holds,
 * loads or is ended by. The other files follow each other in one process, which loads once what they share.
 */
const OWN_PROCESS = [
  "test/{examples,package,durability,telemetry}/**/*.test.ts",
  "test/cli/commands/**/*.test.ts",
  "test/{bundlers,host-memory,linear-time,read-journals,readme}.test.ts",
  "test/values/byte-list.test.ts",
  "test/gate/session.test.ts",
  // Tests that share the Docker daemon, each with containers of its own.
  "test/cli/docker.test.ts",
  ...matching("test/{bridge,sandboxes,serve}/**/*.test.ts", /docker-engine\.ts"/),
  ...matching("test/**/*.test.ts", JUDGES_PROCESS),
];

/**
 * Tests that measure this machine beside hostile programs or load, or change what the Docker daemon has for all. They run
 * after the others, one at a time beside the first, which takes longer than the rest together and one core of two.
 */
const ALONE = [
  "test/hostile.test.ts",
  "test/hostile-docker.test.ts",
  "test/serve/hostile-requests.test.ts",
  "test/serve/load.test.ts",
  "test/sandboxes/docker/image/build-image.test.ts",
  "test/sandboxes/docker/leftovers.test.ts",
  "test/sandboxes/docker/deaf-container.test.ts",
  "test/sandboxes/docker/container/processor-time.test.ts",
  "test/sandboxes/isolate/processor-time.test.ts",
];

/** Files that take a minute or more: they begin first, so that no core waits for them at the end. */
const LONGEST = [
  "test/read-journals.test.ts",
  "test/hostile.test.ts",
  "test/durability/gigabyte.test.ts",
  "test/durability/every-cut.test.ts",
  "test/durability/kill.test.ts",
  "test/host-memory.test.ts",
  "test/host-memory-streams.test.ts",
  "test/package/package.test.ts",
  "test/programs/execute-python.test.ts",
  "test/programs/execute.test.ts",
  "test/serve/mcp/stdio.test.ts",
];

class LongestFirst extends BaseSequencer {
  /** Keeps the order of projects. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- it is no array that sorts itself
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    const placeOf = ({ moduleId }: TestSpecification) =>
      LONGEST.some((path) => moduleId.endsWith(`/${path}`)) ? 0 : 1;
    return sorted.toSorted(
      (one, other) => projects.indexOf(one.project) - projects.indexOf(other.project) || placeOf(one) - placeOf(other),
    );
  }
}

const NOT_TESTS = ["**/node_modules/**"];

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Files of tests that are run in one way, beside those of the same group, and after those of the groups before it. */
function project(
  name: string,
  { exclude = [], ...test }: NonNullable<TestProjectInlineConfiguration["test"]>,
  group: number,
) {
  return {
    extends: true as const,
    test: {
      // Tests wait for processes, timers, containers and browsers for half of their time.
      maxWorkers: 2 * availableParallelism(),
      ...test,
      name,
      exclude: [...NOT_TESTS, ...exclude],
      sequence: { groupOrder: group },
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
    globalSetup: ["test/docker-support/stop-engine.ts"],
    pool: "forks",
    sequence: { sequencer: LongestFirst },
    // Tests start the command line from its sources about a hundred times: node keeps what it compiled, which halves a start.
    env: { NODE_COMPILE_CACHE: source("node_modules/.cache/node-compile") },
    // Bounds for what never comes: on a busy machine all else takes a part of them.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 20 } },
    projects: [
      project("processes", { include: OWN_PROCESS, exclude: ALONE }, 0),
      project("rooms", { include: ["test/**/*.test.ts"], exclude: [...OWN_PROCESS, ...ALONE], isolate: false }, 0),
      project("alone", { include: ALONE, maxWorkers: 2 }, 1),
    ],
  },
});
