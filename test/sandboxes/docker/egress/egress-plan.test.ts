import { networkInterfaces } from "node:os";
import { expect, test, vi } from "vitest";
import { createDockerSandbox } from "../../../../src/sandboxes/docker/docker-sandbox.ts";
import { type EgressOptions, planEgress, USUAL_WAY } from "../../../../src/sandboxes/docker/egress/egress-plan.ts";

test('egress: "none" is the default, and may be given', () => {
  expect(planEgress(undefined)).toBeUndefined();
  expect(planEgress("none")).toBeUndefined();
});

test.each([
  [
    "all",
    'createDockerSandbox({ egress }): expected "none", or { hosts } with the hosts that programs may reach, got "all".',
  ],
  [
    ["api.example.com"],
    'createDockerSandbox({ egress }): expected "none", or { hosts } with the hosts that programs may reach, got ["api.example.com"].',
  ],
  [null, /^createDockerSandbox\(\{ egress \}\): expected "none", or \{ hosts \}/],
  [{}, /^createDockerSandbox\(\{ egress: \{ hosts \} \}\): expected a list of 1 to 1000 host names/],
  [{ hosts: ["10.0.0.1"] }, /^createDockerSandbox\(\{ egress: \{ hosts \} \}\)\[0\]: expected a host name in ASCII/],
  [
    { hosts: ["api.example.com"], lookup: 1 },
    'createDockerSandbox({ egress }): there is no option "lookup". The options are hosts, totalBytes.',
  ],
  [
    { hosts: ["api.example.com"], totalBytes: 0 },
    "createDockerSandbox({ egress: { totalBytes } }): expected a whole number of at least 1, got 0.",
  ],
  [
    { hosts: ["api.example.com"], totalBytes: 1.5 },
    "createDockerSandbox({ egress: { totalBytes } }): expected a whole number of at least 1, got 1.5.",
  ],
])("%j is refused in a sentence, before anything is started", (egress, sentence) => {
  expect(() => createDockerSandbox({ egress: egress as EgressOptions })).toThrow(sentence);
});

test.each([
  [{ cpus: 0 }, "createDockerSandbox({ cpus }): expected a number above 0, got 0."],
  [{ containers: 0 }, "createDockerSandbox({ containers }): expected a whole number of at least 1, got 0."],
  // A size of 0 would be no bound.
  [{ scratchBytes: 0 }, "createDockerSandbox({ scratchBytes }): expected a whole number of at least 4096, got 0."],
  [{ image: "" }, 'createDockerSandbox({ image }): expected the name of an image, got "".'],
])("the options %j of containers are refused in a sentence", (options, sentence) => {
  expect(() => createDockerSandbox(options)).toThrow(sentence);
});

vi.mock("node:os", async (original) => ({
  ...(await original<typeof import("node:os")>()),
  networkInterfaces: vi.fn<typeof networkInterfaces>(() => ({})),
}));

test("programs may not reach a public address that is this machine's own, from the moment when it is", () => {
  expect(USUAL_WAY.mayReach("8.8.4.10")).toBe(true);
  vi.mocked(networkInterfaces).mockReturnValue({
    eth0: [{ family: "IPv4", cidr: "8.8.4.10/32" }],
  } as unknown as ReturnType<typeof networkInterfaces>);
  expect(USUAL_WAY.mayReach("8.8.4.10")).toBe(false);
  expect(USUAL_WAY.mayReach("8.8.4.11")).toBe(true);
});

test("egress is refused with gVisor", () => {
  expect(() => createDockerSandbox({ runtime: "runsc", egress: { hosts: ["api.example.com"] } })).toThrow(
    /^createDockerSandbox\(\{ egress \}\): expected "none" with the runtime runsc, got /,
  );
});
