import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { ExecutionEvent } from "../../../../src/executions/event.ts";
import { pay, testOfAll } from "../../../support/index.ts";
import { createRuntime } from "../../../../src/runtime/create-runtime.ts";
import { Daemon } from "../../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandboxWith } from "../../../../src/sandboxes/docker/docker-sandbox.ts";
import type { EgressOptions } from "../../../../src/sandboxes/docker/egress/egress-plan.ts";
import { hostProcess, readIfThere } from "../../../../src/sandboxes/host-process.ts";
import type { Connection, Sandbox } from "../../../../src/sandboxes/sandbox.ts";
import { containersOf } from "../../../docker-support/containers.ts";
import { needDockerEngine } from "../../../docker-support/docker-engine.ts";
import { AUTHORITY, httpServer, tlsServer } from "../../../docker-support/egress-servers.ts";
import { LIMITS, openGuest } from "../../../support/guests.ts";

/** Names resolve to this machine's loopback, which alone may be reached; one resolves to somewhere else. */
const WAY = {
  lookup: async (host: string) => (host === "inside.test" ? ["10.0.0.1"] : ["127.0.0.1"]),
  mayReach: (address: string) => address === "127.0.0.1",
};

interface Ran {
  /** What the program said, line by line. */
  readonly said: readonly string[];
  readonly told: readonly Connection[];
}

/** A guest of a sandbox, and the connections that are told of it. */
async function opened(sandbox: Sandbox) {
  const told: Connection[] = [];
  const guest = await sandbox.open(
    { language: "javascript", limits: LIMITS, tenant: "test", onConnection: (connection) => told.push(connection) },
    AbortSignal.timeout(60_000),
  );
  return { guest, told };
}

/** Runs a command in a container with a way out, in place of the guest. It says its lines to descriptor 4, as JSON in frames. */
async function run(command: readonly string[], egress: EgressOptions): Promise<Ran> {
  const sandbox = createDockerSandboxWith(WAY, { egress, command });
  onTestFinished(() => sandbox[Symbol.asyncDispose]());
  const { guest, told } = await opened(sandbox);
  const said: string[] = [];
  for await (const frames of guest.frames) said.push(...frames);
  const exit = await guest.exit;
  if (exit.type === "died" && !exit.detail.includes("exit code 0")) said.push(exit.detail);
  return { said, told };
}

const python = (source: string, ...parameters: readonly unknown[]) => [
  "/usr/bin/python3",
  "-c",
  `import json, os, socket, ssl, struct, urllib.request
def say(text):
    data = str(text).encode()
    os.write(4, struct.pack(">I", len(data)) + data)
def attempt(what):
    try:
        say(what())
    except Exception as error:
        say(f"{type(error).__name__}: {error}")
parameters = json.loads(${JSON.stringify(JSON.stringify(parameters))})
${source}`,
];

const node = (source: string, ...parameters: readonly unknown[]) => [
  "/usr/bin/env",
  `NODE_EXTRA_CA_CERTS=/tmp/authority.pem`,
  "/bin/sh",
  "-c",
  `printf '%s' "$1" > /tmp/authority.pem; shift; exec /usr/local/bin/node --input-type=module -e "$@"`,
  "sh",
  AUTHORITY,
  `import { writeSync } from "node:fs";
const say = (text) => {
  const data = Buffer.from(String(text));
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(data.length);
  writeSync(4, Buffer.concat([prefix, data]));
};
const attempt = async (what) => {
  try {
    say(await what());
  } catch (error) {
    say(\`\${error.name}: \${error.cause?.cause?.message ?? error.cause?.message ?? error.message}\`);
  }
};
const parameters = ${JSON.stringify(parameters)};
${source}`,
];

const foldersOfThis = () =>
  readdirSync(tmpdir()).filter(
    (name) =>
      name.startsWith("portcullis-mounted-") &&
      readIfThere(join(tmpdir(), name, "host"))?.endsWith(` ${hostProcess()}`),
  );

describe.skipIf(needDockerEngine() !== undefined)("egress from containers", () => {
  afterEach(async () => {
    // A container that was being started when its sandbox was closed goes as soon as it stands.
    await vi.waitFor(
      async () => {
        expect(await containersOf()).toEqual([]);
        expect(foldersOfThis()).toEqual([]);
      },
      { timeout: 30_000, interval: 20 },
    );
  });

  test("python's urllib reaches an allowed host, by http and by https", async () => {
    const [plain, secured] = [await httpServer(), await tlsServer()];
    const { said, told } = await run(
      python(
        `
say(urllib.request.urlopen(f"http://allowed.test:{parameters[0]}/a?b", timeout=10).read().decode())
context = ssl.create_default_context(cadata=parameters[2])
say(urllib.request.urlopen(f"https://allowed.test:{parameters[1]}/c", data=b"body", timeout=10, context=context).read().decode())
`,
        plain.port,
        secured.port,
        AUTHORITY,
      ),
      { hosts: [`allowed.test:${plain.port}`, `allowed.test:${secured.port}`] },
    );
    expect(said).toEqual(["GET /a?b ", "POST /c body"]);
    expect(told).toMatchObject([
      { host: "allowed.test", port: plain.port, address: "127.0.0.1", outcome: "done" },
      { host: "allowed.test", port: secured.port, address: "127.0.0.1", outcome: "done" },
    ]);
    expect(told.every(({ bytesUp, bytesDown }) => bytesUp > 0 && bytesDown > 0)).toBe(true);
  });

  testOfAll("node's fetch and its http and https modules reach an allowed host", async () => {
    const [plain, secured] = [await httpServer(), await tlsServer()];
    const { said, told } = await run(
      node(
        `
await attempt(async () => (await fetch(\`http://allowed.test:\${parameters[0]}/a?b\`)).text());
await attempt(async () => (await fetch(\`https://a.below.test:\${parameters[1]}/c\`, { method: "POST", body: "body" })).text());
const { get } = await import("node:http");
const { get: getSecured } = await import("node:https");
const textOf = (ask, url) =>
  new Promise((resolve, reject) => {
    ask(url, async (response) => resolve(Buffer.concat(await response.toArray()).toString())).on("error", reject);
  });
await attempt(() => textOf(get, \`http://allowed.test:\${parameters[0]}/d\`));
await attempt(() => textOf(getSecured, \`https://a.below.test:\${parameters[1]}/e\`));
process.exit(0);
`,
        plain.port,
        secured.port,
      ),
      { hosts: [`allowed.test:${plain.port}`, `*.below.test:${secured.port}`] },
    );
    expect(said).toEqual(["GET /a?b ", "POST /c body", "GET /d ", "GET /e "]);
    // A tunnel ends when its client lets go of it, which node does in its own time.
    expect(told.map(({ host }) => host).toSorted((a, b) => a.localeCompare(b))).toEqual([
      "a.below.test",
      "a.below.test",
      "allowed.test",
      "allowed.test",
    ]);
    expect(told.every(({ bytesUp, bytesDown }) => bytesUp > 0 && bytesDown > 0)).toBe(true);
  });

  test("any other target is refused with a sentence", async () => {
    const { port, asked } = await httpServer();
    const { said, told } = await run(
      python(
        `
def get(url): return lambda: urllib.request.urlopen(url, timeout=10).read()
port = parameters[0]
attempt(get("http://evil.test/"))
attempt(get("https://evil.test/"))
attempt(get(f"http://allowed.test:{port + 1}/"))
attempt(get(f"http://2130706433:{port}/"))
attempt(get(f"http://inside.test:{port}/"))
attempt(get(f"https://inside.test:{port}/"))
`,
        port,
      ),
      { hosts: [`allowed.test:${port}`, `inside.test:${port}`] },
    );
    expect(said).toEqual([
      "HTTPError: HTTP Error 403: Host Not Allowed",
      "URLError: <urlopen error Tunnel connection failed: 403 Host Not Allowed>",
      "HTTPError: HTTP Error 403: Host Not Allowed",
      "HTTPError: HTTP Error 403: Host Not Allowed",
      "HTTPError: HTTP Error 403: Address Not Public",
      "URLError: <urlopen error Tunnel connection failed: 403 Address Not Public>",
    ]);
    expect(told.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 6 }, () => "refused"));
    expect(asked).toEqual([]);
  });

  testOfAll("there is no other interface, address family or type of socket", async () => {
    const { port } = await httpServer();
    const { said, told } = await run(
      python(
        `
def to(family, kind, address, protocol=0):
    def connect():
        with socket.socket(family, kind, protocol) as one:
            one.settimeout(5)
            one.connect(address)
            return "connected"
    return connect
attempt(to(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", parameters[0])))
attempt(to(socket.AF_INET, socket.SOCK_STREAM, ("8.8.8.8", 53)))
attempt(to(socket.AF_INET, socket.SOCK_STREAM, ("169.254.169.254", 80)))
attempt(to(socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)))
attempt(to(socket.AF_INET, socket.SOCK_RAW, ("8.8.8.8", 0), socket.IPPROTO_ICMP))
attempt(to(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 3128), 262))
attempt(to(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 80)))
attempt(to(socket.AF_NETLINK, socket.SOCK_RAW, (0, 0)))
attempt(to(socket.AF_PACKET, socket.SOCK_RAW, ("lo", 0)))
attempt(to(socket.AF_VSOCK, socket.SOCK_STREAM, (2, 80)))
attempt(to(socket.AF_UNIX, socket.SOCK_DGRAM, "/egress/socket"))
attempt(to(socket.AF_UNIX, socket.SOCK_STREAM, "/egress/socket"))
attempt(lambda: sorted(name for _, name in socket.if_nameindex()))
attempt(lambda: socket.getaddrinfo("allowed.test", 80))
`,
        port,
      ),
      { hosts: ["allowed.test"] },
    );
    const refused = "PermissionError: [Errno 1] Operation not permitted";
    expect(said).toEqual([
      "ConnectionRefusedError: [Errno 111] Connection refused",
      "OSError: [Errno 101] Network is unreachable",
      "OSError: [Errno 101] Network is unreachable",
      refused,
      refused,
      refused,
      refused,
      refused,
      refused,
      refused,
      refused,
      "connected",
      refused,
      expect.stringMatching(/^gaierror: /),
    ]);
    expect(told).toMatchObject([{ outcome: "failed", host: "" }]);
  });

  testOfAll("the program sees one socket, which it can neither replace nor remove", async () => {
    const { said } = await run(
      python(`
say(sorted(os.listdir("/egress")) if os.access("/egress", os.R_OK) else "unreadable")
attempt(lambda: os.unlink("/egress/socket"))
attempt(lambda: os.rename("/egress/socket", "/egress/other"))
attempt(lambda: os.symlink("/etc/passwd", "/egress/link"))
attempt(lambda: os.chmod("/egress/socket", 0))
attempt(lambda: open("/egress/file", "w"))
`),
      { hosts: ["allowed.test"] },
    );
    expect(said[0]).toBe("unreadable");
    expect(said).toHaveLength(6);
    for (const line of said.slice(1)) expect(line).toMatch(/Read-only file system|Permission denied|not permitted/);
  });

  testOfAll(
    "connections that are open at the end are journalled before it, and the forwarder ends with its container",
    async () => {
      const { port } = await httpServer(() => {});
      await using sandbox = createDockerSandboxWith(WAY, {
        egress: { hosts: [`allowed.test:${port}`] },
        command: python(
          `
one = socket.create_connection(("127.0.0.1", 3128))
one.sendall(f"CONNECT allowed.test:{parameters[0]} HTTP/1.1\\r\\n\\r\\n".encode())
say(one.recv(100).decode().split("\\r")[0])
one.recv(1)
`,
          port,
        ),
      });
      const { guest, told } = await opened(sandbox);
      for await (const frames of guest.frames) {
        expect(frames).toEqual(["HTTP/1.1 200 Connection Established"]);
        guest.kill("enough");
        expect(told).toMatchObject([{ host: "allowed.test", port, outcome: "cut", detail: "The guest has ended." }]);
      }
      expect(await guest.exit).toEqual({ type: "killed", reason: "enough" });
    },
  );

  test("an execution's journal and report have its connections, and it is not replayed", async () => {
    const { port } = await httpServer();
    const guest = python(
      `
def frame(text):
    data = text.encode()
    os.write(4, struct.pack(">I", len(data)) + data)
frame('{"kind":"ready","protocol":1,"language":"javascript"}')
os.read(3, 65536)
answer = urllib.request.urlopen(f"http://allowed.test:{parameters[0]}/", timeout=10).read().decode()
held = socket.create_connection(("127.0.0.1", 3128))
held.sendall(f"CONNECT allowed.test:{parameters[0]} HTTP/1.1\\r\\n\\r\\n".encode())
held.recv(100)
frame('{"kind":"settled","ok":true,"notes":[]}\\n' + json.dumps(answer))
`,
      port,
    );
    await using sandbox = createDockerSandboxWith(WAY, { egress: { hosts: [`allowed.test:${port}`] }, command: guest });
    await using runtime = await createRuntime({ tools: [], sandbox });
    const { outcome, usage, execution } = await runtime.execute("unused");
    expect(outcome).toEqual({ type: "completed", value: "GET / " });
    expect(usage.connections.count).toBe(2);
    expect(usage.connections.bytesDown).toBeGreaterThan(50);
    const records = await Array.fromAsync(runtime.journal.read(execution));
    expect(records.filter(({ type }) => type === "egress")).toMatchObject([
      { host: "allowed.test", port, address: "127.0.0.1", outcome: "done" },
      // What was open when the program ended is in the journal before its outcome.
      { host: "allowed.test", port, address: "127.0.0.1", outcome: "cut" },
    ]);
    expect(records.at(-1)?.type).toBe("outcome");
    expect(await runtime.execution(execution).replay()).toEqual({ type: "unreplayable", cause: "network" });
  });

  testOfAll(
    "a program that has reached a host waits for an approval in its container, and keeps what it has",
    async () => {
      const { port } = await httpServer();
      await using sandbox = createDockerSandboxWith(WAY, { egress: { hosts: [`allowed.test:${port}`] } });
      await using runtime = await createRuntime({ tools: [pay], sandbox, approve: () => "later" });
      const waits = Promise.withResolvers<ExecutionEvent>();
      const running = runtime.execute(
        `from urllib import request
url = "http://allowed.test:${port}/"
first = request.urlopen(url)
answer = await tools.pay()
return [answer, first.read().decode(), request.urlopen(url).read().decode()]`,
        {
          language: "python",
          id: "held",
          onEvent: (event) => event.type === "execution_waiting" && waits.resolve(event),
        },
      );
      expect(await waits.promise).toMatchObject({ held: "network", waiting: { approvals: [{ tool: "pay" }] } });
      expect(await Array.fromAsync(runtime.executions.list())).toMatchObject([{ state: "waiting", driven: true }]);
      expect(await containersOf()).not.toEqual([]);
      await runtime.execution("held").decide({ "1": { allow: true } });
      expect((await running).outcome).toEqual({ type: "completed", value: ["paid", "GET / ", "GET / "] });
    },
  );

  testOfAll(
    "the forwarder leaves the guest's output streams blocking, so that printing waits and does not fail",
    async () => {
      const { said } = await run(
        python(`
import fcntl
try:
    socket.create_connection(("127.0.0.1", 3128)).close()
finally:
    say([descriptor for descriptor in range(5) if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_NONBLOCK])
`),
        { hosts: ["allowed.test"] },
      );
      expect(said).toEqual(["[]"]);
    },
  );

  testOfAll("containers of programs in JavaScript have no egress, which their realm could not use", async () => {
    await using sandbox = createDockerSandboxWith(WAY, { egress: { hosts: ["allowed.test"] } });
    await using guest = await openGuest(sandbox);
    expect(guest.usage().peakMemoryBytes).toBe(0);
    const [id = ""] = await containersOf();
    const { Mounts: mounts, Config: config } = await new Daemon().ask((docker) => docker.getContainer(id).inspect());
    expect(mounts.map(({ Destination: path }) => path)).not.toContain("/egress");
    expect(config.Env.join(" ")).not.toContain("PROXY");
  });

  testOfAll("each warm container has its own socket", async () => {
    const command = python(`
say("up")
os.read(3, 100)
attempt(lambda: urllib.request.urlopen("http://evil.test/", timeout=10))
`);
    await using sandbox = createDockerSandboxWith(WAY, { egress: { hosts: ["allowed.test"] }, command, warm: 1 });
    await sandbox.warm?.();
    for (let program = 0; program < 2; program += 1) {
      const { guest, told } = await opened(sandbox);
      guest.send(["go"]);
      const said: string[] = [];
      for await (const frames of guest.frames) said.push(...frames);
      expect(said).toEqual(["up", "HTTPError: HTTP Error 403: Host Not Allowed"]);
      expect(told).toMatchObject([{ host: "evil.test", outcome: "refused" }]);
    }
  });
});
