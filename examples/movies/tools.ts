import { defineTool } from "portcullis";
import { z } from "zod";
import { pick } from "../pick.ts";
import { readData } from "../read-data.ts";

const Row = z.object({
  Title: z.coerce.string(),
  "Release Date": z.string(),
  Director: z.string().nullable(),
  "Major Genre": z.string().nullable(),
  "Worldwide Gross": z.number().nullable(),
  "Production Budget": z.number().nullable(),
  "IMDB Rating": z.number().nullable(),
  "IMDB Votes": z.number().nullable(),
});

const Movie = z.object({
  title: z.string(),
  released: z.string().describe("like Jun 12 1998"),
  director: z.string().nullable(),
  genre: z.string().nullable(),
  worldwideGross: z.number().nullable().describe("US dollars"),
  budget: z.number().nullable().describe("US dollars"),
  imdbRating: z.number().nullable(),
  imdbVotes: z.number().nullable(),
});
type Movie = z.infer<typeof Movie>;

export const allMovies = z
  .array(Row)
  .parse(readData(new URL("movies.json.br", import.meta.url)))
  .map((row): Movie => ({
    title: row.Title,
    released: row["Release Date"],
    director: row.Director,
    genre: row["Major Genre"],
    worldwideGross: row["Worldwide Gross"],
    budget: row["Production Budget"],
    imdbRating: row["IMDB Rating"],
    imdbVotes: row["IMDB Votes"],
  }));

const queryMovies = defineTool({
  name: "movies.query",
  description: "Movies with their gross and ratings, at most 500 a call",
  inputSchema: z.object({
    minRating: z.number().optional().describe("IMDB rating, up to 10"),
    minVotes: z.number().int().optional().describe("IMDB votes"),
    director: z.string().optional(),
    genre: z.string().optional(),
    fields: z.array(Movie.keyof()).optional().describe("fields wanted; all by default"),
    offset: z.number().int().min(0).default(0),
    limit: z.number().int().min(1).max(500).default(500),
  }),
  outputSchema: z.object({
    total: z.number().describe("movies that match, on all pages"),
    movies: z.array(Movie.partial()),
  }),
  allowedCallers: ["direct", "programmatic"],
  effect: "read",
  execute: ({ minRating, minVotes, director, genre, fields, offset, limit }) => {
    const atLeast = (value: number | null, least: number | undefined) =>
      least === undefined || (value !== null && value >= least);
    const matching = allMovies.filter(
      (movie) =>
        atLeast(movie.imdbRating, minRating) &&
        atLeast(movie.imdbVotes, minVotes) &&
        (director === undefined || movie.director === director) &&
        (genre === undefined || movie.genre === genre),
    );
    return {
      total: matching.length,
      movies: matching.slice(offset, offset + limit).map((movie) => pick(movie, fields)),
    };
  },
});

export default [queryMovies];
