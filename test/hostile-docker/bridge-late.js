// Tries: to go on after it has settled, to make a call that is not watched any more.
// Ends: crashed bridge_broken | completed 1
// Runs: write 0
say(settled(1), call(1, "write", { id: 1 }), turnEnd(1));
forever();
