// Tries: to return what grows sixfold when it is written out.
// Ends: stopped frameBytes
return "\u0001".repeat(2_000_000);
