import { describe } from "vitest";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { sandboxContract } from "../contract.ts";

describe.skipIf(needDockerEngine() !== undefined)("programs in JavaScript in containers", () => {
  sandboxContract(createDockerSandbox, { ends: "anything" });
});
