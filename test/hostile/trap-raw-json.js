// Tries: to write JSON of its own: frames, and numbers that are none any more when they are read.
// Ends: completed {"refused":4,"forged":1}
let refused = 0;
for (const text of ['{"kind":"call"}', "1\n2", "\u001e1", "[1]"]) {
  try {
    JSON.rawJSON(text);
  } catch {
    refused += 1;
  }
}
return { refused, forged: JSON.rawJSON("1") };
