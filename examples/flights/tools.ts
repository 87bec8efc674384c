import { defineTool } from "portcullis";
import { z } from "zod";
import { pick } from "../pick.ts";
import { readData } from "../read-data.ts";

const Flight = z.object({
  date: z.string().describe("like 2001/01/31 06:02"),
  delay: z.number().describe("minutes, negative when early"),
  distance: z.number().describe("miles"),
  origin: z.string().describe("IATA code"),
  destination: z.string().describe("IATA code"),
});
const Airport = z.object({
  iata: z.string(),
  name: z.string(),
  city: z.string(),
  state: z.string().describe("two letters"),
  country: z.string(),
  latitude: z.number(),
  longitude: z.number(),
});

const data = z
  .object({ flights: z.array(Flight), airports: z.array(Airport) })
  .parse(readData(new URL("flights.json.br", import.meta.url)));

export const allFlights = data.flights;
export const allAirports = new Map(data.airports.map((airport) => [airport.iata, airport] as const));

const queryFlights = defineTool({
  name: "flights.query",
  description: "US flights of early 2001, in the order of their dates, at most 1,000 a call",
  inputSchema: z.object({
    origin: z.string().optional(),
    destination: z.string().optional(),
    minDelay: z.number().optional(),
    fields: z.array(Flight.keyof()).optional().describe("fields wanted; all by default"),
    offset: z.number().int().min(0).default(0),
    limit: z.number().int().min(1).max(1000).default(1000),
  }),
  outputSchema: z.object({
    total: z.number().describe("flights that match, on all pages"),
    flights: z.array(Flight.partial()),
  }),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ origin, destination, minDelay, fields, offset, limit }) => {
    const matching = allFlights.filter(
      (flight) =>
        (origin === undefined || flight.origin === origin) &&
        (destination === undefined || flight.destination === destination) &&
        (minDelay === undefined || flight.delay >= minDelay),
    );
    return {
      total: matching.length,
      flights: matching.slice(offset, offset + limit).map((flight) => pick(flight, fields)),
    };
  },
});

const getAirport = defineTool({
  name: "airports.get",
  description: "One US airport by its IATA code; null if there is none",
  inputSchema: z.object({ iata: z.string() }),
  outputSchema: Airport.nullable(),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ iata }) => allAirports.get(iata) ?? null,
});

export default [queryFlights, getAirport];
