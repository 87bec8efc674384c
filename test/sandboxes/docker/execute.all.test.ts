import { afterAll, describe, expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createDockerSandbox } from "../../../src/sandboxes/index.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { ORDINARY_PROGRAMS } from "../../executions/ordinary-programs.ts";
import { ORDINARY_PYTHON_PROGRAMS } from "../../executions/ordinary-python-programs.ts";
import { broken, echo, later } from "../../support/tools.ts";

const PROGRAMS = [
  ...ORDINARY_PROGRAMS.map((one) => ({ ...one, language: "javascript" as const })),
  ...ORDINARY_PYTHON_PROGRAMS.map((one) => ({ ...one, language: "python" as const })),
];

// From every prefix they are replayed on the other sandboxes, which run the same guest and start it sooner.
describe.skipIf(needDockerEngine() !== undefined)(
  "ordinary programs complete in containers, and replay in others",
  () => {
    const sandbox = createDockerSandbox({ warm: 2 });
    afterAll(() => sandbox[Symbol.asyncDispose]());

    test.each(PROGRAMS)("a program in $language that $does", async ({ language, program, returns }) => {
      await using runtime = await createRuntime({ sandbox, tools: [echo, later, broken] });
      const { outcome, execution } = await runtime.execute(program, { language });
      expect(outcome).toEqual({ type: "completed", value: returns });
      expect((await runtime.execution(execution).replay()).type).toBe("identical");
    });
  },
);
