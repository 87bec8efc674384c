// Tries: to pass what is no object, and more arguments than one.
// Ends: completed ["input_invalid","input_invalid","input_invalid","input_invalid","input_invalid"]
// Runs: read 0
const attempts = [
  () => tools.read(1),
  () => tools.read(null),
  () => tools.read([{ id: 1 }]),
  () => tools.read({ id: 1 }, { id: 2 }),
  () => tools.read("{\"id\":1}"),
];
const codes = [];
for (const attempt of attempts) codes.push(await attempt().catch((error) => error.code));
return codes;
