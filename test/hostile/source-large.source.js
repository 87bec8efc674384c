// Tries: to have a megabyte of program read.
// Ends: failed program_too_large
export default () => `return 1; ${"// padding\n".repeat(100_000)}`;
