import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

interface Measured {
  readonly characters: number;
  readonly tools: number;
  readonly names: readonly string[];
  readonly problems: readonly string[];
  /** Schemas that could not be made when they were needed. */
  readonly broken: number;
  readonly seconds: number;
  readonly megabytes: number;
}

/** Documents that nobody wrote for these tests, in packages of npm. */
const DOCUMENTS = [
  {
    what: "GitHub, OpenAPI 3.0",
    file: "@octokit/openapi/generated/api.github.com.json",
    tools: 1223,
    names: ["api.issues.listForRepo", "api.repos.get"],
  },
  {
    what: "GitHub Enterprise Cloud, more than 5 MB",
    file: "@octokit/openapi/generated/ghec.json",
    tools: 1471,
    names: ["api.issues.listForRepo"],
  },
  {
    what: "Kubernetes, Swagger 2.0",
    file: "kubernetes-client/lib/specs/swagger-1.13.json.gz",
    tools: 1014,
    names: ["api.listCoreV1NamespacedPod"],
  },
  {
    what: "Directus, schemas that refer to themselves",
    file: "@directus/specs/dist/openapi.json",
    tools: 136,
    names: ["api.readItems"],
  },
] as const;

function locate(file: string): string | undefined {
  const { resolve } = createRequire(import.meta.url);
  try {
    return resolve(file);
  } catch {
    return undefined;
  }
}

async function measure(path: string): Promise<Measured> {
  const script = fileURLToPath(new URL("measure-document.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, path], { maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout) as Measured;
}

describe("a real document becomes tools, in a process of its own", () => {
  for (const { what, file, tools, names } of DOCUMENTS) {
    const path = locate(file);
    const title = path === undefined ? `${what} (skipped: the package of ${file} is not installed)` : what;
    test.skipIf(path === undefined)(title, { timeout: 120_000 }, async () => {
      const measured = await measure(path ?? expect.fail());
      const { characters, problems, seconds, megabytes } = measured;
      process.stdout.write(
        `${what}: ${characters} characters, ${measured.tools} tools, ${problems.length} left out, ${seconds.toFixed(1)} s, ${Math.round(megabytes)} MB\n`,
      );
      expect([measured.tools, problems, measured.broken]).toEqual([tools, [], 0]);
      expect(measured.names).toEqual(expect.arrayContaining([...names]));
      expect(megabytes).toBeLessThan(400);
    });
  }
});
