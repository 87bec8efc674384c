import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const vega = join(dirname(require.resolve("vega-datasets")), "../data");

/** Each licence by its id. */
function licenses(): Readonly<Record<string, unknown>> {
  const ids = Object.keys(require("spdx-license-list/spdx.json") as object);
  return Object.fromEntries(ids.map((id) => [id, require(`spdx-license-list/licenses/${id}.json`) as unknown]));
}

function flights() {
  const [head = "", ...rows] = readFileSync(join(vega, "airports.csv"), "utf8").trim().split(/\r?\n/);
  const names = head.split(",");
  const airports = rows.map((row) => {
    const cells = (row.match(/"(?:[^"]|"")*"|[^,]+/g) ?? []).map((cell) =>
      cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
    );
    const { latitude, longitude, ...texts } = Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ""]));
    return { ...texts, latitude: Number(latitude), longitude: Number(longitude) };
  });
  return { flights: JSON.parse(readFileSync(join(vega, "flights-20k.json"), "utf8")) as unknown, airports };
}

const fileOf = (path: string) => fileURLToPath(new URL(`../../examples/${path}`, import.meta.url));

/** Files with data of examples that are part of the package, and the same data in the packages that they were taken from. */
export const SHIPPED_DATA = [
  { file: fileOf("licenses/licenses.json.br"), taken: licenses },
  { file: fileOf("flights/flights.json.br"), taken: flights },
] as const;
