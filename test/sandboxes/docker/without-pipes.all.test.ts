import { describe, vi } from "vitest";
import { Daemon } from "../../../src/sandboxes/docker/daemon.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { sandboxContract } from "../contract.ts";

// As with an engine on another machine: the bridge is the container's standard streams.
vi.spyOn(Daemon.prototype, "sharesMachine").mockResolvedValue(false);

describe.skipIf(needDockerEngine() !== undefined)("programs in JavaScript in containers that have no pipes", () => {
  sandboxContract(createDockerSandbox, { ends: "anything" });
});
