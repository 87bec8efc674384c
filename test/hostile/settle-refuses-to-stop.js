// Tries: to take the word to stop for an error like others, and to begin again.
// Ends: stopped wallMs
// Runs: write 0
for (;;) {
  try {
    await tools.hang({});
  } catch (error) {
    console.log(error.code);
    setTimeout(() => {}, 1);
    tools.write({ id: 1 }).catch(() => {});
  }
}
