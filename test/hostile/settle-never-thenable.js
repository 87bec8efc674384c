// Tries: to return a thenable that calls nobody back.
// Ends: failed never_settles
return { then() {} };
