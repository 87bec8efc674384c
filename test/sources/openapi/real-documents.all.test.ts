import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { readData } from "../../../examples/read-data.ts";
import { type Described, exampleOf } from "../../../examples/github-openapi/server.ts";
import { validate } from "../../../src/tools/schema.ts";
import { ALL, sourceOf } from "./api-server.ts";
import { DOCUMENTS, urlOf } from "./documents.ts";

const documents = readFileSync(new URL("../../../docs/sources.md", import.meta.url), "utf8");

test("of 926 examples of results in GitHub's document 174 do not fit its own schemas, as the documents say", async () => {
  const spec = readData(urlOf(DOCUMENTS[0].file)) as Described;
  const { tools } = await sourceOf(spec, {}, (_, { method, path }) => ({ ...ALL, name: nameOf(method, path) }));
  const outputs = new Map(tools.map(({ name, outputSchema: output }) => [name, output]));
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

test.each(DOCUMENTS)("a real document becomes tools: $what", async ({ file, tools: count, names, servers }) => {
  const { tools, problems } = await sourceOf(readData(urlOf(file)) as Described);
  expect([tools.length, problems]).toEqual([
    count,
    servers.map((server) => expect.stringContaining(server) as unknown),
  ]);
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining([...names]));
  // A schema is made when it is first used.
  for (const { inputSchema: input, outputSchema: output } of tools.slice(0, 200))
    for (const schema of [input, output]) await schema?.["~standard"].validate({});
});
