// Tries: to send a hundred thousand commands in one turn that cancel each other, for the host to keep.
// Ends: completed "sent" | stopped memoryBytes | stopped cpuMs
for (let index = 0; index < 90_000; index += 1) clearTimeout(setTimeout(() => {}, 1000));
return "sent";
