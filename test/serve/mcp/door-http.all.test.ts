import { afterAll, beforeAll, describe } from "vitest";
import { CLIENTS } from "./clients.ts";
import { describeDoor, describeImpatientDoor, describeMuteClient } from "./door.suite.ts";
import { type OpenDoor, openHttpDoor } from "./doors.ts";

let door: OpenDoor;
let impatient: OpenDoor;
beforeAll(async () => {
  door = await openHttpDoor();
  impatient = await openHttpDoor("--set", "patienceMs=1s");
});
afterAll(async () => {
  await door[Symbol.asyncDispose]();
  await impatient[Symbol.asyncDispose]();
});

describe.each(CLIENTS)("a client of $client over HTTP, of a door in a process of its own", ({ connect, version }) => {
  describeDoor({ connect, version, address: () => door });
  describeMuteClient({ connect, address: () => door });
  describeImpatientDoor({ connect, address: () => impatient });
});
