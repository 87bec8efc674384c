// Tries: to load a module in the only ways that get past the reading of its text.
// Ends: completed ["refused","refused","refused","refused"]
const texts = ["fs", "node:child_process", "data:text/javascript,export default 1", "./engine.js"];
const results = [];
for (const text of texts) {
  try {
    await new Function("name", "return import(name)")(text);
    results.push("loaded");
  } catch {
    results.push("refused");
  }
}
return results;
