// Tries: to go on whatever it is sent.
// Ends: stopped cpuMs
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE", "SIGQUIT", "SIGUSR2"]) process.on(signal, () => {});
for (;;);
