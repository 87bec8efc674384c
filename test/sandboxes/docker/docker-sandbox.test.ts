import { describe, expect, test } from "vitest";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { containersOf } from "../../docker-support/containers.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { describeOfAll, testOfAll } from "../../support/all-tests.ts";
import { heardUntil, iterate, openGuest, startText } from "../../support/guests.ts";
import { sandboxContract } from "../contract.ts";

const noEngine = needDockerEngine() !== undefined;

describeOfAll.skipIf(noEngine)("programs in Python in containers", () =>
  sandboxContract(createDockerSandbox, { ends: "anything", language: "python" }),
);

describe.skipIf(noEngine)("programs in JavaScript in containers", () => {
  sandboxContract(createDockerSandbox, { ends: "anything", guests: "containers" });

  testOfAll("an answer of many megabytes arrives whole", async () => {
    await using sandbox = createDockerSandbox();
    await using guest = await openGuest(sandbox);
    const text = "é".repeat(3_000_000);
    guest.send([startText("const text = await tools.ping({});\nreturn [text.length, text.at(-1)];")]);
    guest.send([`{"kind":"answer","now":1760000000100,"id":1,"ok":true}\n${JSON.stringify(text)}`]);
    expect((await heardUntil(iterate(guest), "settled")).at(-1)).toContain('\n[3000000,"é"]');
  });

  test("a container has pipes only if its daemon is on this machine", async () => {
    await using sandbox = createDockerSandbox();
    await openGuest(sandbox);
    const daemon = new Daemon();
    const [id = ""] = await containersOf();
    const { Mounts: mounts } = await daemon.ask((docker) => docker.getContainer(id).inspect());
    expect(
      mounts.filter(({ Type: type }) => type === "bind").map(({ Destination: path, RW: writable }) => [path, writable]),
    ).toEqual((await daemon.sharesMachine()) ? [["/bridge", false]] : []);
  });
});
