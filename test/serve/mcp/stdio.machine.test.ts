import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { doorArgs } from "./doors.ts";
import { configWith, INITIALIZE, type LineDoor, openLineDoor, programCall } from "./line-door.ts";

const folder = mkdtempSync(join(tmpdir(), "portcullis-door-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Ends two seconds after it is told to, which is the time that a door has at most. */
const WAITING = `process.on("SIGTERM", () => setTimeout(() => process.exit(), 2000));
setInterval(() => {}, 60_000);
process.stdout.write("ready");`;

async function untilEnded(end: () => void, ended: Promise<unknown>): Promise<number> {
  const since = performance.now();
  end();
  await ended;
  return performance.now() - since;
}

async function baselineMs(): Promise<number> {
  const child = spawn(process.execPath, ["-e", WAITING], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  return untilEnded(() => child.kill("SIGTERM"), once(child, "exit"));
}

test.each([
  ["the end of its standard input", (door: LineDoor) => door.child.stdin.end()],
  ["SIGTERM", (door: LineDoor) => door.child.kill("SIGTERM")],
  ["SIGINT", (door: LineDoor) => door.child.kill("SIGINT")],
] as const)("by %s the door ends before a process that waits for two seconds", async (name, end) => {
  const { config } = configWith(folder, "stays", join(folder, name.replaceAll(" ", "-")));
  const door = openLineDoor(doorArgs("--mcp", config));
  await door.send(INITIALIZE);
  void door.send(programCall("return tools.clock.hang({})")).catch(() => {});
  await door.send({ method: "ping" });
  const ms = await untilEnded(() => end(door), door.ended);
  const baseline = await baselineMs();
  process.stdout.write(`${name}: ${ms.toFixed(0)} ms, a process that waits: ${baseline.toFixed(0)} ms\n`);
  expect(ms / baseline).toBeLessThan(1);
});
