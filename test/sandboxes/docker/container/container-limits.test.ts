import { expect, test } from "vitest";
import { containerLimits } from "../../../../src/sandboxes/docker/container/container-limits.ts";

const MIB = 1024 * 1024;
const limits = { memoryBytes: 128 * MIB, frameBytes: 4 * MIB };

test("a container gets memoryBytes and the overhead of its language", () => {
  expect(containerLimits(limits, "javascript")).toEqual({
    heapBytes: 128 * MIB,
    memoryBytes: 256 * MIB,
    processes: 64,
    cpus: 1,
    openFiles: 256,
    scratchBytes: 16 * MIB,
    scratchFiles: 1024,
  });
  expect(containerLimits(limits, "python").memoryBytes).toBe(160 * MIB);
});

test("a container gets the configured processors and scratch space, and files in proportion", () => {
  const { cpus, scratchBytes, scratchFiles } = containerLimits(limits, "python", { cpus: 0.5, scratchBytes: 64 * MIB });
  expect({ cpus, scratchBytes, scratchFiles }).toEqual({ cpus: 0.5, scratchBytes: 64 * MIB, scratchFiles: 4096 });
});
