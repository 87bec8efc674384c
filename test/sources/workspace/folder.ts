import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Caller, createRuntime, type Runtime } from "../../../src/index.ts";
import { createMemorySandbox } from "../../../src/runtime/testing.ts";
import { type WorkspaceOptions, workspaceTools } from "../../../src/sources/workspace/index.ts";

/** A folder with files, the tools that read it, and a place outside of it. */
export class Folder implements AsyncDisposable {
  readonly outside = mkdtempSync(join(tmpdir(), "portcullis-workspace-"));
  readonly root = join(this.outside, "root");
  #runtime: Promise<Runtime> | undefined;
  readonly #options: Omit<WorkspaceOptions, "root">;

  constructor(files: Readonly<Record<string, string | Uint8Array>>, options: Omit<WorkspaceOptions, "root"> = {}) {
    mkdirSync(this.root);
    this.#options = options;
    for (const [path, text] of Object.entries(files)) this.write(path, text);
  }

  write(path: string, text: string | Uint8Array): void {
    const full = join(this.root, path);
    mkdirSync(dirname(full), { recursive: true });
    writeFileSync(full, text);
  }

  get tools() {
    return workspaceTools({ root: this.root, ...this.#options });
  }

  /** What a call gives: its value, or the message of its failure. */
  async call(tool: string, input: unknown, caller: Caller = "direct"): Promise<unknown> {
    this.#runtime ??= createRuntime({ tools: this.tools, sandbox: createMemorySandbox() });
    const answer = await (await this.#runtime).call({ tool, caller, input });
    return answer.ok ? answer.value : answer.message;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const runtime = await this.#runtime;
    await runtime?.[Symbol.asyncDispose]();
    rmSync(this.outside, { recursive: true });
  }
}
