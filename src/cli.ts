#!/usr/bin/env node
/** The oldest node that can run the command line. */
const OLDEST = 24;

// An older node cannot even link the modules of the command line, so they are loaded only after this check.
if (Number.parseInt(process.versions.node, 10) < OLDEST) {
  // What an older node installs lacks isolated-vm, so that it has to be installed anew too.
  process.stderr.write(
    `portcullis: node ${OLDEST} or 26 is needed, and this is node ${process.versions.node}. Install one of them, or put npx -y --package node@${OLDEST} before the command that installs this package (npm install or npx), and before this one.\n`,
  );
  process.exit(5);
}
const { runProcess } = await import("./cli/run-process.ts");
runProcess();
