import { createServer } from "node:net";
import { start } from "../../cli/command.ts";

/** Words of a documented command that stand for something of the test's: files, ports, addresses. */
export type Replaced = Readonly<Record<string, string>>;

/** The words of a command, with what is the test's own. */
export function wordsOf(command: string, replaced: Replaced = {}): string[] {
  return command.split(" ").map((word) => replaced[word] ?? word);
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => void server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}

/** Starts the command line. Disposing ends it at once. */
export function begin(words: readonly string[], environment: Readonly<Record<string, string>>) {
  const { child } = start(words, { environment });
  let said = "";
  child.stderr.on("data", (data) => (said += String(data)));
  child.stdout.on("data", (data) => (said += String(data)));
  return { child, said: () => said, [Symbol.dispose]: () => void child.kill("SIGKILL") };
}
