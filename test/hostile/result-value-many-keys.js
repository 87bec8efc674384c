// Tries: to have the host parse, walk and sum up an object of as many keys as fit a frame.
// Ends: completed | stopped frameBytes | stopped cpuMs
const value = {};
for (let index = 0; index < 200_000; index += 1) value[`key${index}`] = 0;
return value;
