// Tries: to make 30,000 calls in one turn, of which only 10,000 may be made, and to return.
// Ends: completed 30000
// Runs: read 0
let made = 0;
for (; made < 30_000; made += 1) void tools.read({ id: made });
return made;
