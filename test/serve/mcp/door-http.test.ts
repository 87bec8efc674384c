import { afterAll, beforeAll, describe } from "vitest";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { CLIENTS, USUAL_CLIENTS } from "./clients.ts";
import { describeDoor, describeImpatientDoor, describeMuteClient } from "./door.suite.ts";
import { openOwnDoor, type OwnDoor } from "./doors.ts";

let door: OwnDoor;
let impatient: OwnDoor;
beforeAll(async () => {
  door = await openOwnDoor();
  impatient = await openOwnDoor({ patienceMs: 20 });
});
afterAll(async () => {
  await door[Symbol.asyncDispose]();
  await impatient[Symbol.asyncDispose]();
});

describe.each(ALL_TESTS ? CLIENTS : USUAL_CLIENTS)("a client of $client over HTTP", ({ connect, version }) => {
  describeDoor({ connect, version, address: () => door });
  describeMuteClient({ connect, address: () => door });
  describeImpatientDoor({ connect, address: () => impatient });
});
