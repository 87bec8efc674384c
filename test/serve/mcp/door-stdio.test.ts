import { describe } from "vitest";
import { CLIENTS } from "./clients.ts";
import { describeDoor } from "./door.suite.ts";

const { client, connect, version } = CLIENTS[2];

describe(`a client of ${client} on the standard streams`, () => {
  describeDoor({ connect, version, address: () => ({ args: [] }) });
});
