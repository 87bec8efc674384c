import { afterEach, describe, expect, test } from "vitest";
import type { Language } from "../../../bridge/frames.ts";
import { createRuntime } from "../../../src/runtime/create-runtime.ts";
import { createDockerSandbox } from "../../../src/sandboxes/docker/docker-sandbox.ts";
import { removeContainersOf } from "../../docker-support/containers.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";
import { signal, tool } from "../../support/tools.ts";

const PROGRAMS: Readonly<Record<Language, string>> = {
  javascript: `let sum = 0;
for (let n = 0; n < 2; n += 1) {
  sum += (await tools.meet({ n })).n;
  console.log("step", n, Math.random() < 2);
}
return sum;`,
  python: `import asyncio, random
sum = 0
for n in range(2):
    sum += (await tools.meet(n=n))["n"]
    print("step", n, random.random() < 2)
await asyncio.sleep(0.01)
sum`,
};

describe.skipIf(needDockerEngine() !== undefined)("containers of programs that wait", () => {
  afterEach(() => removeContainersOf());

  test.each(["javascript", "python"] as const)(
    "serve more programs in %s than there are containers, which all end as alone",
    { timeout: 120_000 },
    async (language) => {
      const programs = 4;
      const steps = new Map<number, { missing: number; readonly all: ReturnType<typeof signal> }>();
      const meet = tool("meet", async (input) => {
        const { n } = input as { readonly n: number };
        const step = steps.get(n) ?? { missing: programs, all: signal() };
        steps.set(n, step);
        step.missing -= 1;
        if (step.missing === 0) step.all.happen();
        await step.all.happened;
        return { n: n + 1 };
      });
      await using sandbox = createDockerSandbox({ containers: 2 });
      await using runtime = await createRuntime({ tools: [meet], sandbox });
      const reports = await Promise.all(
        Array.from({ length: programs }, () => runtime.execute(PROGRAMS[language], { language })),
      );
      for (const { outcome, logs } of reports) {
        expect(outcome).toEqual({ type: "completed", value: 3 });
        expect(logs.lines).toBe(2);
      }
      expect(reports.reduce((sum, { usage }) => sum + usage.evictions, 0)).toBeGreaterThanOrEqual(programs);
      for (const { execution } of reports) expect((await runtime.execution(execution).replay()).type).toBe("identical");
    },
  );
});
