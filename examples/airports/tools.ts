import { defineTool, PortcullisError } from "portcullis";
import { z } from "zod";
import { pick } from "../pick.ts";
import { readData } from "../read-data.ts";

const Row = z.object({
  iata_code: z.string(),
  name: z.string(),
  type: z.string(),
  municipality: z.string(),
  iso_country: z.string(),
  iso_region: z.string(),
  latitude_deg: z.coerce.number(),
  longitude_deg: z.coerce.number(),
  elevation_ft: z.string(),
});

const Airport = z.object({
  iata: z.string(),
  name: z.string(),
  type: z.string(),
  city: z.string(),
  country: z.string().describe("two letters, like IS"),
  region: z.string().describe("code, like IS-2"),
  latitude: z.number(),
  longitude: z.number(),
  elevationFeet: z.number().nullable(),
});
type Airport = z.infer<typeof Airport>;

const toAirport = (row: z.infer<typeof Row>): Airport => ({
  iata: row.iata_code,
  name: row.name,
  type: row.type,
  city: row.municipality,
  country: row.iso_country,
  region: row.iso_region,
  latitude: row.latitude_deg,
  longitude: row.longitude_deg,
  elevationFeet: row.elevation_ft === "" ? null : Number(row.elevation_ft),
});

const airports = new Map(
  z
    .array(Row)
    .parse(readData(new URL("airports.json.br", import.meta.url)))
    .map((row) => [row.iata_code, toAirport(row)] as const),
);

export const getAirport = defineTool({
  name: "world.getAirport",
  description: "One airport of the world by its IATA code",
  inputSchema: z.object({
    iata: z.string().describe("three letters, like KEF"),
    fields: z.array(Airport.keyof()).optional().describe("fields wanted; all by default"),
  }),
  outputSchema: Airport.partial(),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ iata, fields }) => {
    const airport = airports.get(iata);
    if (!airport) throw new PortcullisError("tool_failed", `There is no airport ${iata}: IATA codes are like KEF.`);
    return pick(airport, fields);
  },
});

export default [getAirport];
