// Tries: to steer the operator's terminal by what it prints before it dies.
// Ends: crashed engine_died
// Records: restart
fs.writeSync(2, "\u001b[2J\u001b]0;owned\u0007");
process.exit(3);
