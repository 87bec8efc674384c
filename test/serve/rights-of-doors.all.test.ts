import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { openHttpDoor, openServerProcess } from "./processes.ts";
import { describeRights, type Keys } from "./rights-of-doors.ts";

describe("processes that follow a file of keys", () => {
  describeRights(async (keys) => {
    const folder = mkdtempSync(join(tmpdir(), "portcullis-doors-"));
    const file = join(folder, "keys.json");
    const change = (changed: Keys) => writeFileSync(file, JSON.stringify(changed), { mode: 0o600 });
    change(keys);
    const [server, door] = await Promise.all([openServerProcess("--keys", file), openHttpDoor("--keys", file)]);
    return {
      server: server.url,
      door: new URL(door.url).origin,
      change,
      async [Symbol.asyncDispose]() {
        await Promise.all([server[Symbol.asyncDispose](), door[Symbol.asyncDispose]()]);
        rmSync(folder, { recursive: true });
      },
    };
  });
});
