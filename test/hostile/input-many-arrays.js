// Tries: to have hundreds of thousands of empty arrays made and walked in the host, over and over.
// Ends: stopped inputValues
const value = Array.from({ length: 340_000 }, () => []);
for (let index = 0; index < 5; index += 1) await tools.echo({ value });
return "walked";
