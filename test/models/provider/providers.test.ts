import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as portcullis from "../../../src/index.ts";
import { PROVIDERS } from "../../../src/models/provider/providers.ts";

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), "utf8");
const { peerDependencies, peerDependenciesMeta } = JSON.parse(read("package.json")) as {
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { readonly optional?: boolean }>;
};
const readme = read("docs/models.md");

test.each([...PROVIDERS.values()])(
  "$name has a public maker, an optional SDK and a line in docs/models.md",
  (provider) => {
    const { name, maker, keyVariable, sdk, hostsPrograms } = provider;
    const make = (portcullis as Readonly<Record<string, unknown>>)[maker] as typeof portcullis.anthropic;
    expect(make({ model: "m", apiKey: "k" })).toMatchObject({ name: `${name}:m`, hostsPrograms });
    expect(peerDependencies).toHaveProperty([sdk]);
    expect(peerDependenciesMeta[sdk]).toEqual({ optional: true });
    expect(readme).toContain(`\`${name}:\``);
    expect(readme).toContain(sdk);
    expect(read("test/models/README.md")).toContain(`\`${keyVariable}\``);
  },
);
