import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { fixtures, ownProcess } from "../../cli/command.ts";
import { someOf } from "../../support/all-tests.ts";

const sdk = fileURLToPath(new URL("fixtures/batching-sdk.ts", import.meta.url));

test.each(someOf([false, true], 1))(
  "spans that wait for their export are exported before a command ends: hanging, %s",
  async (hangs) => {
    if (hangs) vi.stubEnv("SDK_HANGS", "1");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { code, stdout, stderr } = await ownProcess(["run", "-", "--tools", `${fixtures}tools.ts`], "return 1 + 1", {
      node: ["--import", sdk],
    });
    expect([code, stdout]).toEqual([0, "2\n"]);
    expect(stderr).toContain("exported: execute_tool run_program");
  },
);
