// Tries: to have a call done twice by sending it twice.
// Ends: crashed bridge_broken
// Records: violation
// Runs: write 0
say(call(1, "write", { id: 1 }), call(1, "write", { id: 1 }), turnEnd(1));
forever();
