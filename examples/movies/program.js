const { movies } = await tools.movies.query({
  minRating: 7.5,
  minVotes: 20000,
  fields: ["director", "worldwideGross"],
});

const directors = new Map();
for (const { director, worldwideGross } of movies) {
  if (!director) continue;
  const row = directors.get(director) ?? { director, films: 0, gross: 0 };
  row.films += 1;
  row.gross += worldwideGross ?? 0;
  directors.set(director, row);
}

return [...directors.values()].sort((a, b) => b.films - a.films || b.gross - a.gross).slice(0, 3);
