import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  // The examples import this package by its name, as its users do.
  resolve: {
    alias: [
      { find: /^portcullis$/, replacement: source("src/index.ts") },
      { find: /^portcullis\/comparison$/, replacement: source("src/comparison/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/docker-support/stop-engine.ts"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
