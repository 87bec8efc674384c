import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { type Described, exampleOf } from "../../../examples/github-openapi/server.ts";
import { validate } from "../../../src/tools/schema.ts";
import { ALL, sourceOf } from "./api-server.ts";

const documents = readFileSync(new URL("../../../docs/sources.md", import.meta.url), "utf8");

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
    names: ["api.getItems"],
  },
] as const;

/** Path of a file in a package, also of one that the package does not export; undefined where it is not installed. */
function locate(file: string): string | undefined {
  const [name = ""] = /^(?:@[^/]+\/)?[^/]+/.exec(file) ?? [];
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), file.slice(name.length));
  } catch {
    return undefined;
  }
}

async function measure(path: string): Promise<Measured> {
  const script = fileURLToPath(new URL("measure-document.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, path], { maxBuffer: 64 * 1024 * 1024 });
  return JSON.parse(stdout) as Measured;
}

test("of 926 examples of results in GitHub's document 174 do not fit its own schemas, as the documents say", async () => {
  const spec = JSON.parse(readFileSync(locate(DOCUMENTS[0].file) ?? expect.fail(), "utf8")) as Described;
  const { tools } = await sourceOf(spec, {}, (_, { method, path }) => ({ ...ALL, name: nameOf(method, path) }));
  const outputs = new Map(tools.map(({ name, output }) => [name, output]));
  const fits = Object.entries(spec.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const output = outputs.get(`api.${nameOf(method, path)}`);
      const status = Object.keys(operation.responses ?? {}).find((one) => one.startsWith("2")) ?? "";
      const example = exampleOf(spec, operation, status);
      return output === undefined || example === undefined ? [] : [validate(output, example)];
    }),
  );
  expect([fits.length, fits.filter((one) => "ok" in one && !one.ok).length]).toEqual([926, 174]);
  expect(documents.replaceAll("\n", " ")).toContain(
    "of the 926 examples of results in GitHub's, 174 do not fit its own schemas",
  );
});

const nameOf = (method: string, path: string) => `${method.toLowerCase()}${path.replaceAll(/\W/g, "_")}`;

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
