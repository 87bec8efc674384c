// Tries: to have a separator of 470 characters copied a million times by one builtin.
// Ends: stopped memoryBytes
return new Array(1e6).fill("x").join("-".repeat(470)).lastIndexOf("none");
