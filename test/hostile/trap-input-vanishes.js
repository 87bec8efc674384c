// Tries: to have a call sent without an input, by a value whose JSON is nothing.
// Ends: completed ["input_invalid","input_invalid","input_invalid"]
// Runs: read 0
let looks = 0;
const late = Object.defineProperty({ id: 1 }, "toJSON", { get() { looks += 1; return looks === 1 ? undefined : () => undefined; } });
const codes = [];
for (const input of [{ toJSON() {} }, Object.assign(() => {}, { toJSON() {} }), Object.create({ toJSON: () => undefined })])
  codes.push(await tools.read(input).catch((error) => error.code));
void late;
return codes;
