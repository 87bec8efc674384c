import { defineSqlTool } from "../sql.ts";
import { allAirports, allFlights } from "./tools.ts";

export default [
  defineSqlTool(
    "Tables flights(date, delay, distance, origin, destination) and airports(iata, name, city, state, country, latitude, longitude), delay in minutes",
    () => ({ flights: allFlights, airports: [...allAirports.values()] }),
  ),
];
