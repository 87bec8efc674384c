import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";
import { getAirport } from "../airports/tools.ts";
import { getCountry } from "../capital/tools.ts";
import { readData } from "../read-data.ts";

const Row = z.object({
  code: z.string(),
  local_code: z.string(),
  name: z.string(),
  continent: z.string(),
  iso_country: z.string(),
  wikipedia_link: z.string(),
  keywords: z.string(),
});

const Region = z.object({
  code: z.string(),
  localCode: z.string(),
  name: z.string(),
  continent: z.string().describe("two letters, like EU"),
  country: z.string().describe("two letters, like IS"),
  wikipedia: z.string().describe("URL"),
  keywords: z.array(z.string()).describe("other names"),
});

const regions = new Map(
  z
    .array(Row)
    .parse(readData(new URL("regions.json.br", import.meta.url)))
    .map((row) => [row.code, row] as const),
);

const getRegion = defineTool({
  name: "world.getRegion",
  description: "One region of a country by its code",
  inputSchema: z.object({ code: z.string().describe("like IS-2") }),
  outputSchema: Region,
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ code }) => {
    const row = regions.get(code);
    if (!row) throw new PortcullisError("tool_failed", `There is no region ${code}: codes are like IS-2.`);
    const { name, continent } = row;
    return {
      code,
      localCode: row.local_code,
      name,
      continent,
      country: row.iso_country,
      wikipedia: row.wikipedia_link,
      keywords: row.keywords.split(",").filter((word) => word !== ""),
    };
  },
});

export default [getAirport, getRegion, getCountry];
