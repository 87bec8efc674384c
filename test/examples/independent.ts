/**
 * The answers to the examples' questions, computed from the data without the examples' tools or programs, by other
 * means where there are any: searches in the text, sorting where a program groups, queries by hand.
 */
import { readFileSync } from "node:fs";
import { brotliDecompressSync } from "node:zlib";

const text = (file: string) =>
  brotliDecompressSync(readFileSync(new URL(`../../examples/${file}.json.br`, import.meta.url))).toString();
const json = (file: string): unknown => JSON.parse(text(file));
const rounded = (value: number, decimals: number) => Number(value.toFixed(decimals));

interface Country {
  readonly cca2: string;
  readonly capital: readonly string[];
  readonly currencies: object;
  readonly subregion: string;
  readonly languages: Readonly<Record<string, string>>;
}

const countryOf = (code: string) => (json("capital/countries") as readonly Country[]).find(({ cca2 }) => cca2 === code);

function capital() {
  const { capital = [], currencies = {} } = countryOf("KG") ?? {};
  return { capital: capital.join(), currencies: Object.keys(currencies) };
}

/** What the text of a file of rows says of one key, in the row that another key's value is in. */
function field(file: string, [key, value]: readonly [string, string], wanted: string): string {
  const row = text(file)
    .split("},{")
    .find((row) => row.includes(`"${key}":"${value}"`));
  return new RegExp(`"${wanted}":"([^"]*)"`).exec(row ?? "")?.[1] ?? "";
}

function airports() {
  const [paz, addis] = ["LPB", "ADD"].map((iata) =>
    Number(field("airports/airports", ["iata_code", iata], "elevation_ft")),
  );
  const feet = (paz ?? 0) - (addis ?? 0);
  return { higher: feet > 0 ? "LPB" : "ADD", feet: Math.abs(feet) };
}

function hops() {
  const of = (wanted: string) => field("airports/airports", ["iata_code", "KEF"], wanted);
  const { subregion, languages = {} } = countryOf(of("iso_country")) ?? {};
  return {
    region: field("hops/regions", ["code", of("iso_region")], "name"),
    subregion,
    languages: Object.values(languages).toSorted(),
  };
}

interface Movie {
  readonly Director: string | null;
  readonly "Worldwide Gross": number | null;
  readonly "IMDB Rating": number | null;
  readonly "IMDB Votes": number | null;
}

function movies() {
  const good = (json("movies/movies") as readonly Movie[]).filter(
    (movie) => (movie["IMDB Rating"] ?? 0) >= 7.5 && (movie["IMDB Votes"] ?? 0) >= 20_000,
  );
  const names = new Set(good.flatMap(({ Director }) => Director ?? []));
  return [...names]
    .map((director) => {
      const films = good.filter(({ Director }) => Director === director);
      return {
        director,
        films: films.length,
        gross: films.reduce((sum, film) => sum + (film["Worldwide Gross"] ?? 0), 0),
      };
    })
    .toSorted((a, b) => b.films - a.films || b.gross - a.gross)
    .slice(0, 3);
}

interface Flight {
  readonly delay: number;
  readonly origin: string;
  readonly destination: string;
}

/** State by airport. */
const readStates = (): ReadonlyMap<string, string> =>
  new Map(
    [...text("flights/flights").matchAll(/"iata":"(\w+)",[^{}]*"state":"(\w+)"/g)].map(
      ([, iata = "", state = ""]) => [iata, state] as const,
    ),
  );

const readFlights = () => (json("flights/flights") as { readonly flights: readonly Flight[] }).flights;

function flights() {
  const states = readStates();
  const rows = readFlights()
    .map(({ origin, destination, delay }) => ({ from: states.get(origin), to: states.get(destination), delay }))
    .filter(({ from, to }) => from !== undefined && to !== undefined && from !== to);
  return Object.entries(Object.groupBy(rows, ({ from, to }) => `${from}>${to}`))
    .map(([pair, all = []]) => ({
      pair,
      flights: all.length,
      mean: all.reduce((sum, { delay }) => sum + delay, 0) / all.length,
    }))
    .filter((row) => row.flights >= 50)
    .toSorted((a, b) => b.mean - a.mean)
    .slice(0, 5)
    .map(({ pair, flights, mean }) => ({ pair, flights, meanDelay: rounded(mean, 2) }));
}

function speeches() {
  const all = Object.entries(json("speeches/speeches") as Readonly<Record<string, { readonly text: string }>>);
  const asked = all.filter(([id]) => /^(194[5-9]|19[5-9]\d|20[01]\d|2020)/.test(id));
  const rows = asked.map(([id, { text }]) => {
    const words = text
      .toLowerCase()
      .split(/[^a-z']+/)
      .filter(Boolean);
    const count = words.filter((word) => word === "inflation").length;
    return { id, count, perThousand: rounded((1000 * count) / words.length, 3) };
  });
  return {
    addresses: rows.length,
    never: rows.filter(({ count }) => count === 0).length,
    top: rows.toSorted((a, b) => b.perThousand - a.perThousand).slice(0, 5),
  };
}

type Versions<Value> = Readonly<Record<string, Readonly<Record<string, Value>>>>;

interface Browsers {
  readonly features: Readonly<Record<string, { readonly stats: Versions<string> }>>;
  readonly usage: Readonly<Record<string, { readonly data: Versions<number | null> }>>;
}

function subgrid() {
  const { features, usage } = json("subgrid/browsers") as Browsers;
  const supported = Object.entries(features["css-subgrid"]?.stats ?? {}).flatMap(([browser, versions]) =>
    Object.keys(versions).flatMap((version) => (versions[version]?.[0] === "y" ? [[browser, version] as const] : [])),
  );
  const regions = Object.entries(usage).map(([region, { data }]) => {
    const share = supported.reduce((sum, [browser, version]) => sum + (data[browser]?.[version] ?? 0), 0);
    return { region, share: rounded(share, 2) };
  });
  return { regions: regions.length, lowest: regions.toSorted((a, b) => a.share - b.share).slice(0, 5) };
}

function licenses() {
  const all = Object.entries(json("licenses/licenses") as Readonly<Record<string, { readonly licenseText: string }>>);
  const texts = all.map(([id, { licenseText }]) => ({
    id,
    text: licenseText.toLowerCase().replaceAll(/[^a-z0-9]+/g, ""),
  }));
  const groups: string[][] = [];
  let before: string | undefined;
  for (const { id, text } of texts.toSorted((a, b) => (a.text < b.text ? -1 : Number(a.text > b.text)))) {
    if (text === before) groups.at(-1)?.push(id);
    else groups.push([id]);
    before = text;
  }
  const shared = groups.filter((ids) => ids.length > 1).map((ids) => ids.toSorted());
  const size = Math.max(...shared.map((ids) => ids.length));
  const [largest] = shared
    .filter((ids) => ids.length === size)
    .toSorted((a, b) => ((a[0] ?? "") < (b[0] ?? "") ? -1 : 1));
  return { licenses: texts.length, groups: shared.length, inGroups: shared.flat().length, largest };
}

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly required?: boolean; readonly content: object };
  readonly responses: object;
}

/** Without following references: GitHub writes out every body of a request, and the status of every response. */
function operations() {
  const { paths } = json("operations/api.github.com") as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const all = Object.values(paths).flatMap((methods) => Object.values(methods));
  const categories = all
    .filter(({ requestBody, responses }) => {
      const statuses = Object.keys(responses);
      const json = requestBody?.required === true && "application/json" in requestBody.content;
      return json && statuses.includes("422") && !statuses.some((status) => status === "403" || status === "404");
    })
    .map(({ operationId }) => operationId.split("/")[0] ?? "")
    .toSorted();
  const top = [...new Set(categories)]
    .map((category) => ({ category, count: categories.filter((other) => other === category).length }))
    .toSorted((a, b) => b.count - a.count)
    .slice(0, 3);
  return { operations: all.length, matching: categories.length, top };
}

/** By the name of the example. */
export const ANSWERS: Readonly<Record<string, () => unknown>> = {
  capital,
  airports,
  hops,
  movies,
  flights,
  speeches,
  subgrid,
  licenses,
  operations,
};
