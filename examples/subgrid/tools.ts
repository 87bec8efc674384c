import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";
import { readData } from "../read-data.ts";

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

const data = z
  .object({ features: z.record(z.string(), Feature), usage: z.record(z.string(), Usage) })
  .parse(readData(new URL("browsers.json.br", import.meta.url)));
const features = new Map(Object.entries(data.features));
const usage = new Map(Object.entries(data.usage));

const getFeature = defineTool({
  name: "features.get",
  description: "Which browsers support one feature of the web platform",
  inputSchema: z.object({
    id: z.string().describe("like css-grid"),
    browsers: z.array(z.string()).optional().describe("browsers wanted, like firefox; all by default"),
  }),
  outputSchema: Feature,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ id, browsers }) => {
    const feature = features.get(id);
    if (!feature)
      throw new PortcullisError(
        "tool_failed",
        `There is no feature ${id}: ids are those of caniuse.com, like css-grid.`,
      );
    const { stats, ...about } = feature;
    const wanted = Object.entries(stats).filter(([browser]) => browsers?.includes(browser) ?? true);
    return { ...about, stats: Object.fromEntries(wanted) };
  },
});

const listRegions = defineTool({
  name: "regions.list",
  description: "Two-letter codes of the countries and territories whose browser usage is known",
  inputSchema: z.object({}),
  outputSchema: z.array(z.string()),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: () => [...usage.keys()],
});

const getUsage = defineTool({
  name: "regions.getUsage",
  description: "Browser usage of one region",
  inputSchema: z.object({
    code: z.string().describe("two letters, like CH"),
    nonzeroOnly: z.boolean().default(false).describe("leaves out versions that nobody uses"),
  }),
  outputSchema: Usage,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ code, nonzeroOnly }) => {
    const found = usage.get(code);
    if (!found) throw new PortcullisError("tool_failed", `There is no region ${code}: regions.list gives the codes.`);
    return nonzeroOnly ? { ...found, data: withoutZeros(found.data) } : found;
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
