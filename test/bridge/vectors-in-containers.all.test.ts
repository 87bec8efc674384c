import { createDockerSandbox } from "../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { vectorSuite } from "./vectors.ts";

for (const language of ["javascript", "python"] as const)
  vectorSuite(
    `the docker sandbox: ${language}`,
    () => createDockerSandbox({ warm: 1 }),
    language,
    needDockerEngine() !== undefined,
  );
