import { expect, test } from "vitest";
import { someOf } from "../../../support/all-tests.ts";
import { openHttpDoor } from "../../../serve/processes.ts";

test.each(someOf(["SIGTERM", "SIGINT", "SIGHUP"] as const, 1))(
  "a door over HTTP that ends by %s has served to its end: exit code 0, as of serve",
  async (signal) => {
    await using door = await openHttpDoor();
    expect(await door.end(signal)).toBe(0);
    expect(door.said()).toContain("no further requests are accepted");
  },
);
