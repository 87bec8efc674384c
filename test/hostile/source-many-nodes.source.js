// Tries: to have as much syntax read in the host as fits a program.
// Ends: completed 10001
export default () => `return [${"[],".repeat(10_000)}1].length;`;
