// Tries: to fill the place where the guest keeps the labels of console.time.
// Ends: stopped memoryBytes | stopped cpuMs
for (let index = 0; ; index += 1) console.time(`${index}${"label".repeat(500)}`);
