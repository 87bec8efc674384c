// Tries: to send an error with traps to a tool, and to have it come back.
// Ends: completed {"name":"Error","message":"plain"}
const error = Object.assign(new Error("plain", { cause: globalThis }), { extra: () => {} });
return await tools.echo({ value: error });
