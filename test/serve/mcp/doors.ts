import { fileURLToPath } from "node:url";
import { createRuntime } from "portcullis";
import { createServer, type ServerOptions } from "portcullis/serve";
import { createMemorySandbox } from "portcullis/testing";
import { doorTools } from "./tools-of-doors.ts";

const TOKEN = "a-token-of-this-process";

export const cli = fileURLToPath(new URL("../../../src/cli.ts", import.meta.url));
export const tools = fileURLToPath(new URL("fixtures/door-tools.ts", import.meta.url));

/** The arguments of node that start a command with the tools of these tests. */
export const commandArgs = (command = "", ...args: readonly string[]): string[] => [
  "--conditions=portcullis-source",
  cli,
  command,
  "--tools",
  tools,
  ...args,
];

/** The arguments of node that start the door. */
export const doorArgs = (...args: readonly string[]): string[] => commandArgs("mcp", ...args);

export interface OwnDoor extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
}

/** A door over HTTP in this process, which runs programs too. */
export async function openOwnDoor(options: ServerOptions = {}, tools = doorTools()): Promise<OwnDoor> {
  const runtime = await createRuntime({ tools: [...tools], sandbox: createMemorySandbox() });
  const server = await createServer(runtime, { routes: "mcp", ...(options.keys ? {} : { token: TOKEN }), ...options });
  const { url } = await server.listen({ port: 0 });
  return {
    url: `${url}/mcp`,
    token: TOKEN,
    async [Symbol.asyncDispose]() {
      await server.close({ drainMs: 0 });
      await runtime[Symbol.asyncDispose]();
    },
  };
}
