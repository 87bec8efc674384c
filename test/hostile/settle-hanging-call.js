// Tries: to wait for a tool that never returns.
// Ends: stopped wallMs
return await tools.hang({});
