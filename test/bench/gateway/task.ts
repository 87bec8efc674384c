/** What the processes of `make bench-gateway` agree on. */
export const FIRST_MS = Number(process.env["FIRST_MS"] || 500);
export const PIECE_MS = Number(process.env["PIECE_MS"] || 50);
export const PIECES = 20;
export const FIRST_WORD = "Hello";
export const ASK_PROGRAM = "by a program";
export const PROGRAM = `const [a, b] = await Promise.all([tools.depot({ id: 1 }), tools.depot({ id: 2 })]);
return a.n + b.n;`;
export const TOKEN = "the-token-of-the-benchmark";
