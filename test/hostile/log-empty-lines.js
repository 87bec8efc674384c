// Tries: to have many frames made of the shortest lines, by changing the stream with each.
// Ends: completed "printed"
for (let index = 0; index < 100_000; index += 1) {
  console.log("");
  console.error("");
}
return "printed";
