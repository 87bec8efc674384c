// Tries: to say it is finished while children go on talking on its bridge.
// Ends: completed 1 | crashed bridge_broken
// Runs: write 0
for (let n = 0; n < 5; n += 1)
  spawn("/bin/sh", ["-c", 'while :; do printf "\\0\\0\\0\\100" >&4; done'], { stdio: ["ignore", "ignore", "ignore", 3, 4], detached: true });
settle(1);
say(call(1, "write", { id: 1 }), turnEnd(1));
forever();
