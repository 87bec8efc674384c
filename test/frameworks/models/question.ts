/** What the scripted models of the documents call `run_program` with, whatever they are asked. */
export const INPUT = {
  code: `
    const { total } = await tools.movies.query({ minRating: 8.5, fields: ["title"] });
    return \`\${total} movies are rated 8.5 or better.\`;
  `,
};
