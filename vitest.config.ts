import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  // The examples import this package by its name, as its users do.
  resolve: {
    alias: [{ find: /^portcullis$/, replacement: fileURLToPath(new URL("src/index.ts", import.meta.url)) }],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/docker-support/stop-engine.ts"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
