// Tries: to stay alive on a timer that does nothing.
// Ends: stopped wallMs
setInterval(() => {}, 50);
await new Promise(() => {});
