// Tries: to return what grows sixfold when it is written out.
// Ends: stopped outputBytes
return "\u0001".repeat(2_000_000);
