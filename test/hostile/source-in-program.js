// Tries: to break the engine's parser and compiler from inside, with texts that are nested a hundred thousand times.
// Ends: completed ["RangeError","RangeError","RangeError","SyntaxError","RangeError"]
const deep = (open, close) => open.repeat(100_000) + close.repeat(100_000);
const texts = [deep("[", "]"), deep("(", ")"), `${"!".repeat(300_000)}1`, deep("{", ""), deep("`${", "}`")];
return texts.map((text) => {
  try {
    return typeof new Function(`return ${text}`);
  } catch (error) {
    return error.name;
  }
});
