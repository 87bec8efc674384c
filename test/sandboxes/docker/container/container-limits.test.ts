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

test("the overhead does not depend on memoryBytes", () => {
  const [small, large] = [16 * MIB, 8192 * MIB].map((memoryBytes) =>
    containerLimits({ ...limits, memoryBytes }, "javascript"),
  );
  expect((large?.memoryBytes ?? 0) - (small?.memoryBytes ?? 0)).toBe((8192 - 16) * MIB);
  expect(large?.processes).toBe(small?.processes);
});

test("a container gets the configured processors and scratch space, and files in proportion", () => {
  const { cpus, scratchBytes, scratchFiles } = containerLimits(limits, "python", { cpus: 0.5, scratchBytes: 64 * MIB });
  expect({ cpus, scratchBytes, scratchFiles }).toEqual({ cpus: 0.5, scratchBytes: 64 * MIB, scratchFiles: 4096 });
});

test("the smallest scratch space has room for some files", () => {
  expect(containerLimits(limits, "python", { cpus: 1, scratchBytes: 4096 }).scratchFiles).toBe(16);
});

test("frameBytes is enforced by the host and not passed to a container", () => {
  expect(containerLimits({ ...limits, frameBytes: 1 }, "javascript")).toEqual(containerLimits(limits, "javascript"));
});
