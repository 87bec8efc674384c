/*
 * A host for the janitor's test: runs a program in a container that never ends, says so, and waits to be killed.
 */
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { answerPing, heardUntil, iterate, openGuest, startText } from "../../support/guests.ts";

const guest = await openGuest(createDockerSandbox());
const frames = iterate(guest);
guest.send([startText("await tools.ping({});\nfor (;;) {}")]);
await heardUntil(frames, "turn_end");
guest.send([answerPing(1, 0)]);
process.stdout.write("running\n");
