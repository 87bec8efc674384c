import { afterEach, describe, expect, test, vi } from "vitest";
import { containersOf } from "../docker-support/containers.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { someOf, testOfAll } from "../support/all-tests.ts";
import { fixtures, portcullis, SIGNALS, signalled } from "./command.ts";

const TOOLS = ["--tools", `${fixtures}tools.ts`];
const IN_DOCKER = ["run", "-", ...TOOLS, "--sandbox", "docker"];
const skipped = needDockerEngine() !== undefined;

afterEach(() => {
  vi.unstubAllEnvs();
});

test("without a daemon, doctor says so, and that programs in isolates run", async () => {
  vi.stubEnv("DOCKER_HOST", "unix:///nowhere");
  const { code, stdout } = await portcullis(["doctor"]);
  expect([stdout, code]).toEqual([expect.stringMatching(/^! docker .*unix:\/\/\/nowhere/m), 0]);
});

describe.skipIf(skipped)("with a daemon", () => {
  test("run --sandbox docker gives the same result, and leaves no container", async () => {
    const { code, stdout, stderr, pid } = await portcullis(IN_DOCKER, "return (await tools.echo({ n: 1 })).n;");
    expect(stderr).toMatch(/^completed: 1 call, 7 B in, 1 B out, \d+\.\d s\n$/);
    expect([stdout, code]).toEqual(["1\n", 0]);
    expect(await containersOf(pid)).toEqual([]);
  });

  test.each(someOf(SIGNALS, 1))(
    "%s during a program cancels it, exits with %d, and leaves no container",
    async (signal, exitCode) => {
      const program = "void tools.announce();\nawait tools.echo({});\nfor (;;) {}";
      const { code, stdout, pid } = await signalled(IN_DOCKER, program, signal, async (engine) =>
        expect(await containersOf(engine)).toHaveLength(1),
      );
      expect([stdout, code]).toEqual(["The execution was cancelled.\n", exitCode]);
      expect(await containersOf(pid)).toEqual([]);
    },
  );

  test("doctor shows the daemon, and that a program ran in a container", async () => {
    const { stdout } = await portcullis(["doctor"]);
    expect(stdout).toMatch(
      /✓ docker +daemon \S+, with runc[^]*✓ docker run +a program that does nothing took [\d.]+ ms/,
    );
  });

  testOfAll("the demo's answers are right in containers too", async () => {
    const { code, stdout } = await portcullis(["demo", "--sandbox", "docker"]);
    expect(stdout.match(/✓ right/g)).toHaveLength(4);
    expect(code).toBe(0);
  });
});
