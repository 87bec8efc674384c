import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { hostname, release, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { createRuntime, PortcullisError } from "../../../src/index.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox, type DockerSandboxOptions } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { imageLabels } from "../../../src/sandboxes/docker/image.ts";
import { type Answers, fakeEngine } from "../../docker-support/fake-engine.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const image = (labels: Readonly<Record<string, string>>) => ({ status: 200, body: { Config: { Labels: labels } } });
const FITTING: Answers = {
  "GET /images/portcullis-sandbox/json": image(imageLabels()),
  "GET /containers/json": { status: 200, body: [] },
};

/** What a host is told that wants to run a program in containers here. */
async function told(options: DockerSandboxOptions = {}): Promise<string> {
  await using sandbox = createDockerSandbox({ callMs: 300, ...options });
  try {
    await using runtime = await createRuntime({ tools: [], sandbox });
    await runtime.execute("return 1;");
  } catch (error) {
    if (PortcullisError.is(error) && error.code === "sandbox_unavailable") return error.message;
    throw error;
  }
  throw new Error("there is an engine after all");
}

test("no engine", async () => {
  vi.stubEnv("DOCKER_HOST", "unix:///nowhere/docker.sock");
  expect(await told()).toBe(
    "No Docker engine answers at unix:///nowhere/docker.sock: start it (sudo systemctl start docker), or set DOCKER_HOST to one that runs.",
  );
});

test("no engine at a port", async () => {
  vi.stubEnv("DOCKER_HOST", "tcp://127.0.0.1:1");
  expect(await told()).toContain("No Docker engine answers at tcp://127.0.0.1:1: ");
});

test("an engine that this user may not use", () => {
  vi.stubEnv("DOCKER_HOST", "unix:///var/run/docker.sock");
  const refused = Object.assign(new Error("connect EACCES /var/run/docker.sock"), { code: "EACCES" });
  expect(new Daemon().unavailable(refused).message).toBe(
    'This user may not use the Docker engine at unix:///var/run/docker.sock: sudo usermod -aG docker "$USER", then log in again.',
  );
});

test("an engine that never answers", async () => {
  await fakeEngine({});
  expect(await told()).toMatch(
    /^The Docker engine at unix:\/\/\S+ hangs, it has not answered within 300 ms: restart it \(sudo systemctl restart docker\)\.$/,
  );
});

test("no image", async () => {
  await fakeEngine({
    "GET /images/portcullis-sandbox/json": { status: 404, body: { message: "No such image: portcullis-sandbox" } },
  });
  expect(await told()).toMatch(
    /^There is no image portcullis-sandbox on the Docker engine at unix:\S+: portcullis image build$/,
  );
});

test.each([
  [{}, "The image portcullis-sandbox is none of portcullis: portcullis image build"],
  [
    { ...imageLabels(), "portcullis.protocol": "0" },
    "The image portcullis-sandbox speaks version 0 of the bridge, this portcullis version 1: portcullis image build",
  ],
  [
    { ...imageLabels(), "portcullis.contents": "0123456789abcdef" },
    "The image portcullis-sandbox was built by another version of portcullis, with other guests: portcullis image build",
  ],
])("an image labelled %j", async (labels, sentence) => {
  await fakeEngine({ "GET /images/portcullis-sandbox/json": image(labels) });
  expect(await told()).toBe(sentence);
});

test.each([
  [
    "mkdir /var/lib/docker/overlay2/1: no space left on device",
    /^The disk of the Docker engine at unix:\S+ is full: docker system prune \(mkdir .*\)\.$/,
  ],
  [
    "Unknown runtime specified runsc",
    /does not have this container runtime: install it there, or use runtime "runc" \(Unknown runtime/,
  ],
  [
    "it is broken\nin two lines.",
    /^The Docker engine at \S+ cannot run a container, it answers 500: it is broken in two lines\.$/,
  ],
])("an engine that says: %s", async (message, sentence) => {
  await fakeEngine({ ...FITTING, "POST /containers/create": { status: 500, body: { message } } });
  expect(await told()).toMatch(sentence);
});

test("an engine that hangs in the middle is left alone, and its container asked to go", async () => {
  await fakeEngine({
    ...FITTING,
    "POST /containers/create": { status: 201, body: { Id: "abc" } },
    "DELETE /containers/abc": { status: 204, body: {} },
  });
  expect(await told()).toContain(" hangs, it has not answered within 300 ms");
});

test("an engine on this machine that does not see its temporary folder is asked for a container without pipes", async () => {
  const asked = await fakeEngine({
    ...FITTING,
    "GET /info": { status: 200, body: { Name: hostname(), KernelVersion: release() } },
    "POST /containers/create": {
      status: 400,
      body: { message: "invalid mount config: bind source path does not exist" },
    },
  });
  expect(await told()).toContain("it answers 400: invalid mount config");
  expect(asked.filter((request) => request === "POST /containers/create")).toHaveLength(2);
});

test("a way out of containers that are on another machine", async () => {
  await fakeEngine({ ...FITTING, "GET /info": { status: 200, body: { Name: "elsewhere", KernelVersion: release() } } });
  expect(await told({ egress: { hosts: ["api.example.com"] } })).toMatch(
    /^The Docker engine at unix:\S+ is not on this machine, and egress takes a socket of this machine: use an engine here, or egress "none"\.$/,
  );
});

test("a way out by way of a folder that the engine does not see", async () => {
  await fakeEngine({
    ...FITTING,
    "GET /info": { status: 200, body: { Name: hostname(), KernelVersion: release() } },
    "POST /containers/create": {
      status: 400,
      body: { message: "invalid mount config: bind source path does not exist" },
    },
  });
  expect(await told({ egress: { hosts: ["api.example.com"] }, command: ["anything"] })).toMatch(
    /^The Docker engine at unix:\S+ does not see the folder \S+, and egress takes a socket there: /,
  );
});

test("a path that is too long for a socket", async () => {
  await fakeEngine({ ...FITTING, "GET /info": { status: 200, body: { Name: hostname(), KernelVersion: release() } } });
  const folder = join(mkdtempSync(join(tmpdir(), "portcullis-")), "a".repeat(80));
  mkdirSync(folder);
  vi.stubEnv("TMPDIR", folder);
  expect(await told({ egress: { hosts: ["api.example.com"] }, command: ["anything"] })).toMatch(
    /^The path \S+ is too long for a socket: set TMPDIR to a shorter one\.$/,
  );
  expect(readdirSync(folder)).toEqual([]);
  rmSync(dirname(folder), { recursive: true });
});

test("a runtime that there is not", () => {
  expect(() => createDockerSandbox({ runtime: "kata" as "runc" })).toThrow(
    'runtime: expected runc or runsc, got "kata".',
  );
});
