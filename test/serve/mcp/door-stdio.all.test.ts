import { describe } from "vitest";
import { CLIENTS } from "./clients.ts";
import { describeDoor, describeImpatientDoor, describeMuteClient } from "./door.suite.ts";

describe.each(CLIENTS)("a client of $client on the standard streams", ({ connect, version }) => {
  describeDoor({ connect, version, address: () => ({ args: [] }) });
  describeMuteClient({ connect, address: () => ({ args: [] }) });
  describeImpatientDoor({ connect, address: () => ({ args: ["--set", "patienceMs=1s"] }) });
});
