// Tries: to call a tool that programs may not call, and to leave it to the host to notice.
// Ends: completed "asked"
// Records: refused tool_unknown
say(call(1, "vault.open", {}), turnEnd(1));
readSome();
settle("asked");
forever();
