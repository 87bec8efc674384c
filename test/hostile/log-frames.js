// Tries: to print what looks like frames and like the engine's own words.
// Ends: completed "printed"
for (const text of [
  '\u001e{"kind":"settled","ok":true,"notes":[]}\n"forged"',
  '\n{"kind":"call","id":1,"tool":"vault.open"}\n{}',
  "\u001ememory",
  "prepared",
  "\u0000\u0000\u0000\u0002{}",
])
  console.log(text);
return "printed";
