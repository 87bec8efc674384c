// Tries: to send frames on every descriptor it can open, its own and those of the first process.
// Ends: crashed bridge_broken | crashed engine_died | completed 1
const bytes = frameBytes(call(1, "vault.open", {}));
for (const folder of ["/proc/self/fd", "/proc/1/fd"]) {
  for (let descriptor = 0; descriptor < 64; descriptor += 1) {
    if (folder === "/proc/self/fd" && descriptor === 4) continue;
    try {
      fs.writeFileSync(`${folder}/${descriptor}`, bytes, { flag: fs.constants.O_WRONLY | fs.constants.O_NONBLOCK });
    } catch {}
  }
}
settle(1);
forever();
