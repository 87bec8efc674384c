// Tries: to return a thenable that never calls back.
// Ends: failed never_settles
return { then() {} };
