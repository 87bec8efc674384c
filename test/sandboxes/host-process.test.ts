import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { hostProcess, isGone } from "../../src/sandboxes/host-process.ts";

const module = fileURLToPath(new URL("../../src/sandboxes/host-process.ts", import.meta.url));

/** Prints what `isGone` says of a host, as another user, where /proc shows every user its own processes only. */
const askWhereHidden = (host: string) =>
  spawnSync("unshare", [
    "--mount",
    "sh",
    "-c",
    'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"',
    "sh",
    process.execPath,
    "--input-type=module",
    "--eval",
    `const { isGone } = await import(${JSON.stringify(module)}); console.log(isGone(${JSON.stringify(host)}));`,
  ]);

const canHide = process.getuid?.() === 0 && String(askWhereHidden("1:1").stdout) !== "";

test("a running process counts as alive, one that has ended does not", async () => {
  expect(isGone(hostProcess())).toBe(false);
  const child = spawn(process.execPath, [
    "--input-type=module",
    "--eval",
    `const { hostProcess } = await import(${JSON.stringify(module)}); process.stdout.write(hostProcess());`,
  ]);
  const [told] = (await once(child.stdout, "data")) as [Buffer];
  await once(child, "exit");
  expect(isGone(told.toString())).toBe(true);
});

describe("whether a host is gone that /proc", () => {
  const look = (startTime: string | undefined, exists: boolean) => ({
    startTime: () => startTime,
    exists: () => exists,
  });

  test.each([
    ["shows, started when it was", "7", true, false],
    ["shows, started at another time: its id is used again", "8", true, true],
    ["does not show, but the kernel knows its id: it may be hidden", undefined, true, false],
    ["does not show, and the kernel knows no such id", undefined, false, true],
  ] as const)("%s", (_, startTime, exists, gone) => {
    expect(isGone("41:7", look(startTime, exists))).toBe(gone);
  });

  test.each(["", "41", "41:", ":7", "0:7", "-1:7", "41:7:1", "4e1:7", "99999999999:7"])(
    "cannot be decided, because %j names no process: it counts as alive",
    (host) => {
      expect(isGone(host, look(undefined, false))).toBe(false);
    },
  );
});

test.skipIf(!canHide)(
  "where /proc hides other users' processes, a running host counts as alive, and one that has ended does not",
  () => {
    expect(String(askWhereHidden(hostProcess()).stdout)).toBe("false\n");
    const { pid } = spawnSync("true");
    expect(String(askWhereHidden(`${pid}:1`).stdout)).toBe("true\n");
  },
);
