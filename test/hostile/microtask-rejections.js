// Tries: to disturb the host with unhandled rejections.
// Ends: completed "undisturbed"
for (let index = 0; index < 20_000; index += 1) void Promise.reject(new Error(`${index}`));
await tools.read({ id: 1 });
for (let index = 0; index < 2000; index += 1) void Promise.reject(index);
return "undisturbed";
