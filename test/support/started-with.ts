import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Numbers that node itself does not close in children: all below them are not open. */
const DESCRIPTORS = [40, 700];

/** A host that was started with this file open, once its program has come to its end. What it has opened is closed before it ends. */
export async function hostStartedWithFile(program: string): Promise<AsyncDisposable & { readonly pid: number }> {
  const file = openSync(fileURLToPath(import.meta.url), "r");
  const stdio: ("pipe" | "ignore" | number)[] = Array.from({ length: DESCRIPTORS.at(-1)! + 1 }, () => "ignore");
  stdio.splice(0, 3, "pipe", "pipe", 2);
  for (const descriptor of DESCRIPTORS) stdio[descriptor] = file;
  const words = ["--conditions=portcullis-source", "--input-type=module", "--eval"];
  const wait = `process.stdout.write("ready\\n"); await new Promise((resolve) => process.stdin.once("data", resolve));`;
  const host = spawn(process.execPath, [...words, `${program}\n${wait}`], { stdio });
  closeSync(file);
  await once(host.stdout!, "data");
  return {
    pid: host.pid ?? 0,
    async [Symbol.asyncDispose]() {
      host.stdin!.end("over\n");
      await once(host, "exit");
    },
  };
}

/** What a process has in place of the file that its host was started with. */
export function foundIn(pid: number): readonly string[] {
  return DESCRIPTORS.map((descriptor) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${descriptor}`).replace(/^.*\//, "");
    } catch {
      return "closed";
    }
  });
}

export const GIVEN: readonly string[] = DESCRIPTORS.map(() => "started-with.ts");

export function childrenOf(pid: number): readonly number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return children.split(" ").filter(Boolean).map(Number);
}
