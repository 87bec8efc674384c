// Tries: to load a module by plain syntax.
// Ends: failed program_is_module
const { readFileSync } = await import("node:fs");
return readFileSync("/etc/passwd", "utf8");
