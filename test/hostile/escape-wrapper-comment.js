// Tries: to swallow what is put behind its text.
// Ends: failed syntax
return 1; /*
