import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import packageJson from "./package.json" with { type: "json" };

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
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/docker-support/stop-engine.ts"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
