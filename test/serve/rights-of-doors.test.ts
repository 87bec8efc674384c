import { createRuntime } from "portcullis";
import { createServer } from "portcullis/serve";
import { createMemorySandbox } from "portcullis/testing";
import { expect, test } from "vitest";
import { ROUTES } from "../../src/serve/api/routes.ts";
import { describeRights, NEEDS } from "./rights-of-doors.ts";

test("the table has each route of the server", () => {
  expect(Object.keys(NEEDS)).toEqual(expect.arrayContaining(ROUTES.map(({ method, path }) => `${method} ${path}`)));
});

describeRights(async (keys) => {
  const runtime = await createRuntime({ tools: [], sandbox: createMemorySandbox() });
  const server = await createServer(runtime, { keys });
  const door = await createServer(runtime, { keys, routes: "mcp" });
  return {
    server: (await server.listen({ port: 0 })).url,
    door: (await door.listen({ port: 0 })).url,
    change: (changed) => {
      server.setKeys(changed);
      door.setKeys(changed);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([server.close({ drainMs: 0 }), door.close({ drainMs: 0 })]);
      await runtime[Symbol.asyncDispose]();
    },
  };
});
