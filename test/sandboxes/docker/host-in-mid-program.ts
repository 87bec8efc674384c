/*
 * A host for the tests of what one leaves behind: runs a program in a container that never ends, says so, and waits to
 * be killed. Arguments: the program's language, and `streams` for a container without pipes.
 */
import type { Language } from "../../../bridge/frames.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { answerPing, heardUntil, iterate, LIMITS, openGuest, startText } from "../../support/guests.ts";

const PROGRAMS = {
  javascript: "await tools.ping({});\nfor (;;) {}",
  python: "await tools.ping()\nwhile True:\n    pass",
  // Ends every other process that it can.
  hostile: "import os, signal\nos.kill(-1, signal.SIGKILL)\nawait tools.ping()\nwhile True:\n    pass",
};

const [program = "javascript", way] = process.argv.slice(2);
if (way === "streams") Daemon.prototype.sharesMachine = async () => false;
const language: Language = program === "javascript" ? "javascript" : "python";
const guest = await openGuest(createDockerSandbox(), "test", LIMITS, language);
const frames = iterate(guest);
guest.send([startText(PROGRAMS[program as keyof typeof PROGRAMS])]);
await heardUntil(frames, "turn_end");
guest.send([answerPing(1, 0)]);
process.stdout.write("running\n");
