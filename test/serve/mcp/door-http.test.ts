import { afterAll, beforeAll, describe } from "vitest";
import { CLIENTS } from "./clients.ts";
import { describeDoor } from "./door.suite.ts";
import { type OpenDoor, openHttpDoor } from "./doors.ts";

let door: OpenDoor;
beforeAll(async () => {
  door = await openHttpDoor("--patience", "1");
});
afterAll(() => door[Symbol.asyncDispose]());

describe.each(CLIENTS)("a client of $client over HTTP", ({ connect, version }) => {
  describeDoor({ connect, version, address: () => door });
});
