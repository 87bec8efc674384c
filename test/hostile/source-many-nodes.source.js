// Tries: to have as much syntax read in the host as fits a program.
// Ends: completed 20001
export default () => `return [${"[],".repeat(20_000)}1].length;`;
