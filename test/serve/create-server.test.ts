import { expect, test } from "vitest";
import { createServer } from "../../src/serve/index.ts";

test.each([[undefined], [null], [{ runtime: {} }], ["runtime"]])(
  "%j is no runtime, and no server is created for it",
  async (given) => {
    await expect(createServer(given as unknown as Parameters<typeof createServer>[0])).rejects.toMatchObject({
      code: "option_invalid",
      message: expect.stringContaining("createServer(runtime)"),
    });
  },
);
