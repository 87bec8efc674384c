import { afterAll, describe, expect, test } from "vitest";
import { createRuntime } from "../../../src/index.ts";
import { createDockerSandbox } from "../../../src/sandboxes/index.ts";
import { needDockerEngine } from "../../docker-support/docker-engine.ts";

const MIB = 1024 * 1024;
const LIMITS = { memoryBytes: 64 * MIB };

describe.skipIf(needDockerEngine() !== undefined)("the reported cause of a container's end", () => {
  const sandbox = createDockerSandbox();
  afterAll(() => sandbox[Symbol.asyncDispose]());

  test.each([
    "the disk is out of memory",
    "MemoryError",
    "FATAL ERROR: heap limit Allocation failed - JavaScript heap out of memory",
  ])("a program in Python cannot choose it by printing %j", async (words) => {
    await using runtime = await createRuntime({ tools: [], sandbox, limits: LIMITS });
    for (const ending of ["os._exit(7)", "os._exit(1)", "os.abort()", "os.kill(os.getpid(), 9)"]) {
      const { outcome, usage } = await runtime.execute(
        `import os\nos.write(2, b${JSON.stringify(`${words}\n`)})\n${ending}`,
        { language: "python" },
      );
      expect(outcome).toMatchObject({ type: "crashed", code: "engine_died" });
      expect(usage.peakMemoryBytes).toBeLessThan(LIMITS.memoryBytes);
    }
  });

  test.each([
    ["python", "kept = []\nwhile True:\n    kept.append(bytearray(1 << 20))"],
    ["python", "import os\nkept = []\nif os.fork() == 0:\n    os._exit(0)\nwhile True:\n    kept.append('x' * 100000)"],
    ["javascript", "const kept = [];\nfor (;;) kept.push(new Array(1e5).fill(kept.length));"],
    ["javascript", "const kept = [];\nfor (;;) kept.push({ text: 'x'.repeat(1000) + kept.length });"],
  ] as const)("but one in %s that takes all memory has run out of it: %s", async (language, program) => {
    await using runtime = await createRuntime({ tools: [], sandbox, limits: LIMITS });
    const { outcome, usage } = await runtime.execute(program, { language });
    expect(outcome).toMatchObject({ type: "stopped", limit: "memoryBytes" });
    expect(usage.peakMemoryBytes).toBeGreaterThanOrEqual(LIMITS.memoryBytes);
  });
});
