import { mkdirSync, readdirSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { hostname, release } from "node:os";
import { join } from "node:path";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { createRuntime, PortcullisError } from "../../../src/index.ts";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import type { DockerSandboxOptions } from "../../../src/sandboxes/docker/docker-options.ts";
import { imageLabels } from "../../../src/sandboxes/docker/image/image.ts";
import { removeLeftovers } from "../../../src/sandboxes/docker/leftovers.ts";
import { type Answers, fakeEngine } from "../../docker-support/fake-engine.ts";
import { newFolder } from "../../support/new-folder.ts";

afterEach(() => {
  vi.unstubAllEnvs();
});

const image = (labels: Readonly<Record<string, string>>) => ({ status: 200, body: { Config: { Labels: labels } } });
const FITTING: Answers = {
  "GET /images/portcullis-sandbox/json": image(imageLabels()),
  "GET /containers/json": { status: 200, body: [] },
  "GET /info": { status: 200, body: { Name: "elsewhere" } },
  "DELETE /containers/*": { status: 404, body: { message: "No such container" } },
};

/** A daemon is waited for so long where it does not answer; where it does, the time of the package is far beyond any machine. */
const HANGS = { callMs: 300 };

/** What a host is told that wants to run a program in containers here. */
async function told(options: DockerSandboxOptions = {}): Promise<string> {
  await using sandbox = createDockerSandbox(options);
  try {
    await using runtime = await createRuntime({ tools: [], sandbox });
    await runtime.execute("return 1;");
  } catch (error) {
    if (PortcullisError.is(error) && error.code === "sandbox_unavailable") return error.message;
    throw error;
  }
  throw new Error("there is an engine after all");
}

test.each<readonly [string, string]>([
  ["unix:///nowhere/docker.sock", "unix:///nowhere/docker.sock"],
  ...["tcp://127.0.0.1:99999", "tcp://[::", "tcp://", "/var/run/docker.sock"].map(
    (address) => [address, `DOCKER_HOST is ${JSON.stringify(address)}`] as const,
  ),
])("DOCKER_HOST is %j, which is no daemon or cannot be one", async (address, fact) => {
  vi.stubEnv("DOCKER_HOST", address);
  expect(await told()).toContain(fact);
});

test("certificates that are not there", async () => {
  vi.stubEnv("DOCKER_HOST", "tcp://127.0.0.1:1");
  vi.stubEnv("DOCKER_CERT_PATH", "/nowhere");
  expect(await told()).toMatch(/DOCKER_CERT_PATH, \/nowhere.*ENOENT/);
});

test("an empty DOCKER_HOST counts as unset", () => {
  vi.stubEnv("DOCKER_HOST", "");
  expect(new Daemon().address).toBe("unix:///var/run/docker.sock");
});

test.each([null, [null, 1, {}, { Id: "a", Labels: null }, { Labels: { "portcullis.host": "1:1" } }]])(
  "a daemon that reports malformed containers or labels: %j",
  async (containers) => {
    await fakeEngine({
      "GET /images/portcullis-sandbox/json": { status: 200, body: { Config: { Labels: null } } },
      "GET /containers/json": { status: 200, body: containers },
    });
    expect(await told()).toBe("The image portcullis-sandbox was not built by portcullis: portcullis image build");
    await removeLeftovers(new Daemon());
  },
);

test.each([
  ["HTTP/1.1 404 Not Found\r\ncontent-length: 14\r\n\r\n<h1>Nope</h1>\n", "<h1>Nope</h1>"],
  ['HTTP/1.1 404 Not Found\r\ncontent-length: 16\r\n\r\n{"error":"none"}', "none"],
  ["HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", ""],
  ["SSH-2.0-OpenSSH_9.2\r\n", "Parse Error: Expected HTTP/"],
])("a server of another kind, which answers %j", async (bytes, said) => {
  const server = createServer((socket) => socket.on("error", () => {}).end(bytes));
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  vi.stubEnv("DOCKER_HOST", address);
  const sentence = await told().finally(() => server.close());
  expect(sentence).toMatch(
    new RegExp(
      `^The server at ${address} does not answer like a Docker daemon: set DOCKER_HOST to one( \\(.+\\))?\\.$`,
    ),
  );
  expect(sentence).toContain(said);
  expect(sentence).not.toContain("\n");
});

test("a daemon that this user may not use", () => {
  vi.stubEnv("DOCKER_HOST", "unix:///var/run/docker.sock");
  const refused = Object.assign(new Error("connect EACCES /var/run/docker.sock"), { code: "EACCES" });
  expect(new Daemon().unavailable(refused).message).toContain("usermod -aG docker");
});

test("a daemon that never answers", async () => {
  await fakeEngine({});
  expect(await told(HANGS)).toContain("300 ms");
});

test("no image", async () => {
  await fakeEngine({
    "GET /images/portcullis-sandbox/json": { status: 404, body: { message: "No such image: portcullis-sandbox" } },
  });
  expect(await told()).toContain("portcullis image build");
});

test.each([
  [{}, "was not built by portcullis"],
  [{ ...imageLabels(), "portcullis.contents": "0123456789abcdef" }, "another version of portcullis"],
])("an image labelled %j is refused, with how to build it", async (labels, why) => {
  await fakeEngine({ "GET /images/portcullis-sandbox/json": image(labels) });
  const sentence = await told();
  expect(sentence).toContain(why);
  expect(sentence).toContain("portcullis image build");
});

test.each([
  ["mkdir /var/lib/docker/overlay2/1: no space left on device", "docker system prune"],
  ["Unknown runtime specified runsc", "Unknown runtime"],
  ["it is broken\nin two lines.", "it is broken in two lines."],
])("an engine that says: %s", async (message, fact) => {
  await fakeEngine({ ...FITTING, "POST /containers/create": { status: 500, body: { message } } });
  expect(await told()).toContain(fact);
});

test("a daemon that hangs during a start is not waited for, and the container's removal is requested", async () => {
  await fakeEngine({
    ...FITTING,
    "POST /containers/create": { status: 201, body: { Id: "abc" } },
    "DELETE /containers/abc": { status: 204, body: {} },
  });
  expect(await told(HANGS)).toContain(" hangs, it has not answered within 300 ms");
});

/** On this machine, where the daemon does not see the temporary folder. */
const ON_THIS_MACHINE = { "GET /info": { status: 200, body: { Name: hostname(), KernelVersion: release() } } };
const UNSEEN = { status: 400, body: { message: "invalid mount config: bind source path does not exist" } };

test("a daemon on this machine that does not see the temporary folder starts a container without pipes", async () => {
  const asked = await fakeEngine({ ...FITTING, ...ON_THIS_MACHINE, "POST /containers/create": UNSEEN });
  expect(await told()).toContain("it answers 400: invalid mount config");
  expect(asked.filter((request) => request === "POST /containers/create")).toHaveLength(2);
});

test("egress for containers on another machine", async () => {
  await fakeEngine({ ...FITTING, "GET /info": { status: 200, body: { Name: "elsewhere", KernelVersion: release() } } });
  expect(await told({ egress: { hosts: ["api.example.com"] } })).toContain("not on this machine");
});

test("egress with a folder that the daemon does not see", async () => {
  await fakeEngine({ ...FITTING, ...ON_THIS_MACHINE, "POST /containers/create": UNSEEN });
  expect(await told({ egress: { hosts: ["api.example.com"] }, command: ["anything"] })).toContain(
    "cannot mount the folder",
  );
});

test("a path that is too long for a socket", async () => {
  await fakeEngine({ ...FITTING, ...ON_THIS_MACHINE });
  const folder = join(newFolder(onTestFinished), "a".repeat(80));
  mkdirSync(folder);
  vi.stubEnv("TMPDIR", folder);
  expect(await told({ egress: { hosts: ["api.example.com"] }, command: ["anything"] })).toContain("TMPDIR");
  expect(readdirSync(folder)).toEqual([]);
});

test("a container that a hanging daemon may have made is removed by the next look for leftovers", async () => {
  const { "DELETE /containers/*": _, ...hanging } = FITTING;
  const asked = await fakeEngine(hanging);
  const removals = () => asked.filter((request) => request.startsWith("DELETE /containers/portcullis-"));
  // A busy host may give up before the daemon has been asked for a container.
  do expect(await told(HANGS)).toContain("hangs, it has not answered within 300 ms");
  while (removals().length === 0);
  const [name] = removals();
  const before = removals().length;
  void removeLeftovers(new Daemon()).catch(() => {});
  await expect.poll(() => new Set(removals().slice(before))).toEqual(new Set([name]));
});

test("doctor tells that a server is not a Docker daemon", async () => {
  await fakeEngine(FITTING);
  await using sandbox = createDockerSandbox();
  expect(await sandbox.diagnose?.()).toContainEqual({
    what: "docker",
    state: "weak",
    detail: expect.stringMatching(/^The server at .* is not a Docker daemon\.$/) as string,
  });
});
