import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import packageJson from "./package.json" with { type: "json" };

/** Tests that measure the host beside hostile programs, and tests that share the Docker daemon. They run one at a time, after the others. */
const ALONE = [
  "test/hostile.test.ts",
  "test/hostile-docker.test.ts",
  "test/host-memory.test.ts",
  "test/durability/gigabyte.test.ts",
  "test/durability/kill.test.ts",
  "test/durability/locked.test.ts",
  "test/serve/hostile-requests.test.ts",
  "test/serve/load.test.ts",
  "test/linear-time.test.ts",
  "test/bridge/vectors.test.ts",
  "test/cli/docker.test.ts",
  "test/page/many-calls.test.ts",
  "test/serve/image/server-image.test.ts",
  "test/sandboxes/docker/**/*.test.ts",
];

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

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
    // Tests start the command line from its sources about a hundred times: node keeps what it compiled, which halves a start.
    env: { NODE_COMPILE_CACHE: source("node_modules/.cache/node-compile") },
    testTimeout: 30_000,
    hookTimeout: 30_000,
    projects: [
      {
        extends: true,
        test: {
          name: "rooms",
          include: ["test/**/*.test.ts"],
          exclude: ["**/node_modules/**", ...ALONE],
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: "alone", include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
