import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";

const data = dirname(createRequire(import.meta.url).resolve("caniuse-db/package.json"));
const idsIn = (folder: string) => readdirSync(join(data, folder)).map((file) => file.slice(0, -".json".length));
const features = new Set(idsIn("features-json"));
// The others are continents and the world.
const regions = idsIn("region-usage-json").filter((id) => /^[A-Z]{2}$/.test(id));

const Feature = z.object({
  title: z.string(),
  description: z.string(),
  stats: z
    .record(z.string(), z.record(z.string(), z.string()))
    .describe("support by browser and version: y yes, a in part, n no, then notes"),
});
const Usage = z.object({
  id: z.string(),
  name: z.string(),
  month: z.string(),
  data: z
    .record(z.string(), z.record(z.string(), z.number().nullable()))
    .describe("percent of page views by browser and version"),
});

const read = <Shape>(schema: z.ZodType<Shape>, file: string) =>
  schema.parse(JSON.parse(readFileSync(join(data, file), "utf8")));

const getFeature = defineTool({
  name: "features.get",
  description: "Which browsers support one feature of the web platform",
  input: z.object({
    id: z.string().describe("like css-grid"),
    browsers: z.array(z.string()).optional().describe("browsers wanted, like firefox; all by default"),
  }),
  output: Feature,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: ({ id, browsers }) => {
    if (!features.has(id))
      throw new PortcullisError(
        "tool_failed",
        `There is no feature ${id}: ids are those of caniuse.com, like css-grid.`,
      );
    const { stats, ...about } = read(Feature, `features-json/${id}.json`);
    const wanted = Object.entries(stats).filter(([browser]) => browsers?.includes(browser) ?? true);
    return { ...about, stats: Object.fromEntries(wanted) };
  },
});

const listRegions = defineTool({
  name: "regions.list",
  description: "Two-letter codes of the countries and territories whose browser usage is known",
  input: z.object({}),
  output: z.array(z.string()),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: () => regions,
});

const getUsage = defineTool({
  name: "regions.getUsage",
  description: "Browser usage of one region",
  input: z.object({
    code: z.string().describe("two letters, like CH"),
    nonzeroOnly: z.boolean().default(false).describe("leaves out versions that nobody uses"),
  }),
  output: Usage,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  handler: ({ code, nonzeroOnly }) => {
    if (!regions.includes(code))
      throw new PortcullisError("tool_failed", `There is no region ${code}: regions.list gives the codes.`);
    const usage = read(Usage, `region-usage-json/${code}.json`);
    return nonzeroOnly ? { ...usage, data: withoutZeros(usage.data) } : usage;
  },
});

function withoutZeros(data: z.infer<typeof Usage>["data"]) {
  return Object.fromEntries(
    Object.entries(data).map(([browser, versions]) => [
      browser,
      Object.fromEntries(Object.entries(versions).filter(([, share]) => share)),
    ]),
  );
}

export default [getFeature, listRegions, getUsage];
