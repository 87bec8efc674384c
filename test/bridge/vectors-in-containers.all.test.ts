import { afterAll, describe } from "vitest";
import { createDockerSandbox } from "../../src/sandboxes/docker/docker-sandbox.ts";
import { needDockerEngine } from "../docker-support/docker-engine.ts";
import { vectorSuite } from "./vectors.ts";

describe.skipIf(needDockerEngine() !== undefined).each(["javascript", "python"] as const)(
  "golden transcripts of %s on the docker sandbox",
  (language) => {
    const sandbox = createDockerSandbox({ warm: 1 });
    afterAll(() => sandbox[Symbol.asyncDispose]());
    vectorSuite(() => sandbox, language);
  },
);
