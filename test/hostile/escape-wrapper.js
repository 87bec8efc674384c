// Tries: to close the function that its text is put into, and to go on outside of it.
// Ends: failed syntax
return 1; }); tools.vault.open({}); (async () => {
