import { defineSqlTool } from "../sql.ts";
import { allMovies } from "./tools.ts";

export default [
  defineSqlTool(
    "Table movies(title, released, director, genre, worldwideGross, budget, imdbRating, imdbVotes), money in US dollars",
    () => ({ movies: allMovies }),
  ),
];
