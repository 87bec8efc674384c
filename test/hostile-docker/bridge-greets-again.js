// Tries: to be taken for a fresh guest in the middle of a program.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
say('{"kind":"ready","protocol":1,"language":"javascript"}', call(1, "write", { id: 1 }), turnEnd(1));
forever();
