import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { readData } from "../../../examples/read-data.ts";
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

/** Documents that nobody wrote for these tests. */
const DOCUMENTS = [
  {
    what: "GitHub, OpenAPI 3.0",
    file: "examples/operations/api.github.com.json.br",
    tools: 1223,
    names: ["api.issues.listForRepo", "api.repos.get"],
  },
  {
    what: "GitHub Enterprise Cloud, what it has beyond GitHub",
    file: "test/fixtures/github-enterprise.json.br",
    tools: 258,
    names: ["api.scim.listProvisionedIdentities"],
  },
  {
    what: "Kubernetes, Swagger 2.0, with schemas that refer to themselves",
    file: "test/fixtures/kubernetes.json.br",
    tools: 1014,
    names: ["api.listCoreV1NamespacedPod", "api.readApiextensionsV1beta1CustomResourceDefinition"],
  },
] as const;

const urlOf = (file: string) => new URL(`../../../${file}`, import.meta.url);

async function measure(file: string): Promise<Measured> {
  const script = fileURLToPath(new URL("measure-document.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, urlOf(file).href], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout) as Measured;
}

test("of 926 examples of results in GitHub's document 174 do not fit its own schemas, as the documents say", async () => {
  const spec = readData(urlOf(DOCUMENTS[0].file)) as Described;
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
    test(what, { timeout: 120_000 }, async () => {
      const measured = await measure(file);
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
