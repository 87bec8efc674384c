import { describe } from "vitest";
import { ALL_TESTS } from "../../support/all-tests.ts";
import { CLIENTS } from "./clients.ts";
import { describeDoor, describeImpatientDoor, describeMuteClient } from "./door.suite.ts";

describe.each(ALL_TESTS ? CLIENTS : [CLIENTS[2]])(
  "a client of $client on the standard streams",
  ({ connect, version }) => {
    const address = () => ({ args: [] });
    describeDoor({ connect, version, address });
    if (!ALL_TESTS) return;
    describeMuteClient({ connect, address });
    describeImpatientDoor({ connect, address: () => ({ args: ["--set", "patienceMs=1s"] }) });
  },
);
