import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished, vi } from "vitest";

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** What an engine answers to a request, as `METHOD /path` or `METHOD /folder/*`; to what nothing is said of, nothing ever comes. */
export type Answers = Readonly<Record<string, Answer>>;

/**
 * An engine that says what a test makes it say, at the address that `DOCKER_HOST` then names until the test is over. Returns what it is
 * asked, as it is asked.
 */
export async function fakeEngine(answers: Answers): Promise<readonly string[]> {
  const asked: string[] = [];
  const folder = mkdtempSync(join(tmpdir(), "portcullis-"));
  const server = createServer((request, response) => {
    const path = request.url?.replace(/\?.*$/, "") ?? "";
    asked.push(`${request.method} ${path}`);
    const answer = answers[`${request.method} ${path}`] ?? answers[`${request.method} ${dirname(path)}/*`];
    if (!answer) return;
    // Like an engine it reads the request before it answers: a client that still writes may find the connection closed.
    request.resume().once("end", () => {
      response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
    });
  });
  const address = join(folder, "socket");
  await new Promise<void>((resolve) => {
    server.listen(address, resolve);
  });
  vi.stubEnv("DOCKER_HOST", `unix://${address}`);
  onTestFinished(() => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return asked;
}
