import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";
import { pick } from "../pick.ts";
import { readData } from "../read-data.ts";

const Country = z.object({
  cca2: z.string().describe("two letters, like KG"),
  name: z.object({ common: z.string(), official: z.string() }),
  capital: z.array(z.string()),
  currencies: z.record(z.string(), z.object({ name: z.string(), symbol: z.string() })).describe("by currency code"),
  languages: z.record(z.string(), z.string()).describe("names by language code"),
  region: z.string(),
  subregion: z.string(),
  borders: z.array(z.string()).describe("neighbours, three letters each"),
  area: z.number().describe("square kilometres"),
});

const countries = new Map(
  z
    .array(Country)
    .parse(readData(new URL("countries.json.br", import.meta.url)))
    .map((country) => [country.cca2, country] as const),
);

export const getCountry = defineTool({
  name: "world.getCountry",
  description: "One country by its two-letter code",
  inputSchema: z.object({
    code: z.string().describe("two letters, like KG"),
    fields: z.array(Country.keyof()).optional().describe("fields wanted; all by default"),
  }),
  outputSchema: Country.partial(),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ code, fields }) => {
    const country = countries.get(code);
    if (!country) throw new PortcullisError("tool_failed", `There is no country ${code}: codes are like KG.`);
    return pick(country, fields);
  },
});

export default [getCountry];
