import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { exitOfDeath, type Exit, MEMORY_ABORT } from "../../sandbox.ts";
import { fieldOf } from "../../../base/index.ts";
import { containerOptions, type ContainerPlan } from "../container-options.ts";
import { removeContainer } from "../leftovers.ts";
import type { Daemon } from "../daemon.ts";
import { type EgressDoor, openDoor } from "../egress/egress-door.ts";
import { findProcessorTime, type ProcessorTime } from "./processor-time.ts";
import { execFile } from "node:child_process";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeMountedFolder, removeMountedFolder } from "./mounted-folder.ts";

/** How long a container whose bridge has ended may take to end itself, in milliseconds. */
const ENDING_MS = 2000;
const MOUNT_ERROR = /bind source|invalid mount|mounting/i;

/** One container from creation to removal, with its pipes and its egress proxy on the host. */
export class Container {
  /** Its name. The host chooses it, so that the container can be removed even if the daemon's answer was lost. */
  readonly id = `portcullis-${randomUUID()}`;
  readonly plan: ContainerPlan;
  readonly #daemon: Daemon;
  /** Its standard streams, once it is created. */
  stream: Socket | undefined;
  pipes: BridgePipes | undefined;
  door: EgressDoor | undefined;
  /** Counts the processor time of the running container; undefined if the system does not report it. */
  processor: ProcessorTime | undefined;

  constructor(daemon: Daemon, plan: ContainerPlan) {
    this.#daemon = daemon;
    this.plan = plan;
  }

  /** Creates the container and connects to its streams, without starting it. Rejects with the daemon's error. */
  async create(): Promise<Socket> {
    const { plan } = this;
    this.pipes = await makePipes(this.#daemon, plan);
    if (plan.egress) this.door = await openDoor(plan.egress);
    const options = containerOptions(plan, { pipes: this.pipes?.folder, egress: this.door?.folder });
    // The client's own method repeats all options in the address, which a server may refuse as too long.
    await this.#daemon.dial({
      path: "/containers/create?",
      method: "POST",
      options: { _query: { name: this.id }, _body: options },
    });
    // The client's own method has a body, which a daemon may pass to the guest as input.
    this.stream = (await this.#daemon.dial({
      path: `/containers/${this.id}/attach?`,
      method: "POST",
      options: { stream: true, stdin: true, stdout: true, stderr: true },
      file: Buffer.alloc(0),
      hijack: true,
      isStream: true,
    })) as Socket;
    return this.stream;
  }

  async start(): Promise<void> {
    await this.#daemon.ask((docker, abortSignal) => docker.getContainer(this.id).start({ abortSignal }));
  }

  async findProcessorTime(): Promise<void> {
    this.processor = await findProcessorTime(this.#daemon, this.id).catch(() => undefined);
  }

  /** Whether a start failed because the daemon is on this machine and cannot mount its folders. */
  isMountRefused(error: unknown): error is Error {
    return this.pipes !== undefined && error instanceof Error && MOUNT_ERROR.test(error.message);
  }

  /** Closes the streams, the pipes and the egress proxy, which reports the connections that it ends. */
  close(): void {
    this.stream?.destroy();
    this.pipes?.close();
    this.door?.close();
  }

  /** Ends and removes the container. `mayCome`: the daemon has not said whether it made one, and may do so later. */
  remove(mayCome = false): Promise<unknown> {
    return removeContainer(this.#daemon, this.id, mayCome);
  }

  /** Whether it keeps the host alive. The stream of a daemon that is reached over ssh has no `ref`. */
  hold(isHeld: boolean): void {
    const handles = [this.stream, this.pipes?.fromGuest, this.pipes?.toGuest, this.door?.proxy];
    for (const handle of handles) handle?.[isHeld ? "ref" : "unref"]?.();
  }

  /** Why the container ended by itself. `stderrTail` is the end of its standard error. */
  async causeOfDeath(stderrTail: string): Promise<Exit> {
    try {
      await this.#daemon.ask((docker, abortSignal) => docker.getContainer(this.id).wait({ abortSignal }), ENDING_MS);
      const found: unknown = await this.#daemon.ask((docker, abortSignal) =>
        docker.getContainer(this.id).inspect({ abortSignal }),
      );
      const state = fieldOf(found, "State");
      const exitCode = Number(fieldOf(state, "ExitCode"));
      if (fieldOf(state, "OOMKilled") === true || this.#endedByHeap(exitCode, stderrTail))
        return { type: "memory", seenBytes: this.plan.limits.heapBytes };
      return exitOfDeath(`the container ended with exit code ${exitCode}`, stderrTail);
    } catch (error) {
      const detail = error instanceof Error ? error.message.trim() : String(error);
      return { type: "died", detail: `the container's bridge ended, but the container did not: ${detail}` };
    }
  }

  /**
   * Whether V8 ended the container because its heap was full. The only evidence is V8's message on standard error. A
   * program in JavaScript cannot write there unless it escaped its isolate, and such a program could exhaust the memory
   * anyway. Programs in Python can write there freely, so for them the message proves nothing.
   */
  #endedByHeap(exitCode: number, stderrTail: string): boolean {
    // `run-javascript.js` exits with 1, V8 aborts with a signal.
    const mayBeHeap = this.plan.language === "javascript" && (exitCode === 1 || exitCode > 128);
    return mayBeHeap && MEMORY_ABORT.test(stderrTail);
  }
}

/** Without pipes the container's standard streams are the bridge. gVisor, for example, cannot open a host's pipe. */
async function makePipes(daemon: Daemon, { runtime }: ContainerPlan): Promise<BridgePipes | undefined> {
  if (runtime !== "runc" || !(await daemon.sharesMachine())) return undefined;
  return makeBridgePipes().catch(() => undefined);
}

const run = promisify(execFile);

/** How long `mkfifo` may take to create the two pipes, in milliseconds. */
const MAKING_MS = 5000;

/** Makes two named pipes, mounted as `/bridge`. They bypass the daemon: three times as fast as the standard streams. */
export async function makeBridgePipes() {
  const folder = makeMountedFolder();
  try {
    await run("mkfifo", ["-m", "666", join(folder, "in"), join(folder, "out")], { timeout: MAKING_MS });
    const fromGuest = new Socket({ fd: openPipe(join(folder, "out")), readable: true, writable: false });
    const toGuest = new Socket({ fd: openPipe(join(folder, "in")), readable: false, writable: true });
    const close = (): void => {
      fromGuest.destroy();
      toGuest.destroy();
      removeMountedFolder(folder);
    };
    return { folder, fromGuest, toGuest, close };
  } catch (error) {
    removeMountedFolder(folder);
    throw error;
  }
}

type BridgePipes = Awaited<ReturnType<typeof makeBridgePipes>>;

/** Opens a pipe for both reading and writing: opening does not block, and reading does not end before the guest has opened it. */
function openPipe(path: string): number {
  const opened = openSync(path, constants.O_RDWR | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  const found = fstatSync(opened);
  if (found.isFIFO() && found.uid === process.geteuid?.()) return opened;
  closeSync(opened);
  throw new Error(`${path} is not the pipe that was created there`);
}
