// Tries: to have an input of 70,000 different keys parsed and checked in the host.
// Ends: stopped inputValues
const value = {};
for (let index = 0; index < 70_000; index += 1) value[`key${index}`] = 0;
return Object.keys(await tools.echo({ value })).length;
