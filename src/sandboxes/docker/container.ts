import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import { PortcullisError } from "../../errors.ts";
import type { Connection, Exit } from "../sandbox.ts";
import { BridgePipes } from "./bridge-pipes.ts";
import { type ContainerPlan, containerOptions } from "./container-options.ts";
import { type Daemon, DaemonSilence } from "./daemon.ts";
import { EgressDoor } from "./egress/egress-door.ts";
import type { EgressPlan } from "./egress/egress-plan.ts";
import { readMemory } from "./memory-reading.ts";
import { makeMountedFolder, removeMountedFolder } from "./mounted-folder.ts";
import { ProcessorTime } from "./processor-time.ts";

/** How long a container whose bridge has ended may take to end itself, in milliseconds. */
const ENDING_MS = 2000;
const MOUNT_REFUSED = /bind source|invalid mount|mounting/i;
/** What V8 prints before it ends for memory, and `run-javascript.js` where only the isolate has ended. */
const MEMORY_ABORT = /is_heap_oom = 1|out of memory|invalid size error|allocation fail|heap limit/i;

/** The daemon is on this machine and does not see its folders. */
export class FolderUnseen extends Error {}

/** One container from its making to its removal, with what the host has beside it: pipes, and a proxy for egress. */
export class Container {
  /** Its name. The host chooses it, so that a container can be removed also where the daemon's answer was lost. */
  readonly id: string;
  readonly plan: ContainerPlan;
  /** Its standard streams. */
  readonly stream: Socket;
  readonly pipes: BridgePipes | undefined;
  readonly #daemon: Daemon;
  readonly #door: EgressDoor | undefined;
  readonly #onLeft: (id: string) => void;
  #processor: ProcessorTime | undefined;

  private constructor(daemon: Daemon, plan: ContainerPlan, { id, stream, pipes, door, onLeft }: Made) {
    this.#daemon = daemon;
    this.plan = plan;
    this.id = id;
    this.stream = stream;
    this.pipes = pipes;
    this.#door = door;
    this.#onLeft = onLeft;
  }

  /**
   * Makes a container and connects to its streams; it does not run yet. Rejects with what the daemon said, or with
   * `FolderUnseen`, and leaves nothing behind; `onLeft` gets its name where it may be there all the same.
   */
  static async make(daemon: Daemon, plan: ContainerPlan, onLeft: (id: string) => void): Promise<Container> {
    const id = `portcullis-${randomUUID()}`;
    const pipes = await makePipes(daemon, plan);
    let door: EgressDoor | undefined;
    try {
      if (plan.egress) door = await openDoor(plan.egress);
      await daemon.ask((docker, abortSignal) =>
        docker.createContainer({
          ...containerOptions(plan, { pipes: pipes?.folder, egress: door?.folder }),
          name: id,
          abortSignal,
        }),
      );
      return new Container(daemon, plan, { id, stream: await attach(daemon, id), pipes, door, onLeft });
    } catch (error) {
      pipes?.close();
      closeDoor(door);
      await removeUnstarted(daemon, id, error, onLeft);
      throw explained(error, daemon, pipes, door);
    }
  }

  /** Runs it. Rejects like `make`, and leaves nothing behind either. */
  async start(): Promise<void> {
    try {
      await this.#daemon.ask((docker, abortSignal) => docker.getContainer(this.id).start({ abortSignal }));
    } catch (error) {
      this.close();
      await removeUnstarted(this.#daemon, this.id, error, this.#onLeft);
      throw explained(error, this.#daemon, this.pipes, this.#door);
    }
  }

  /** Finds out where the system tells its processor time. It must run. */
  async findProcessorTime(): Promise<void> {
    this.#processor = await ProcessorTime.of(this.#daemon, this.id).catch(() => undefined);
  }

  /** Cuts every connection with it, and tells of those outside. */
  close(): void {
    this.stream.destroy();
    this.pipes?.close();
    closeDoor(this.#door);
  }

  /** Ends it, whatever it does. Resolves with false where the daemon did not remove it. */
  remove(): Promise<boolean> {
    return removeContainer(this.#daemon, this.id);
  }

  /** Sets the listener for connections to hosts outside. */
  tellConnections(listener: (connection: Connection) => void): void {
    this.#door?.tellTo(listener);
  }

  /** Processor time is counted from here on. */
  beginCounting(): void {
    this.#processor?.begin();
  }

  /** Milliseconds since `beginCounting`; undefined where the system does not tell. */
  get processorMs(): number | undefined {
    return this.#processor?.ms;
  }

  /** Bytes beyond an idle guest's; 0 where the daemon does not tell. */
  readMemory(): Promise<number> {
    return readMemory(this.#daemon, this.id).catch(() => 0);
  }

  /** Keeps the host alive, as a running program should. */
  ref(): void {
    for (const stream of this.#streams) stream.ref?.();
    this.#door?.ref();
  }

  /** Lets the host end while this container idles. */
  unref(): void {
    for (const stream of this.#streams) stream.unref?.();
    this.#door?.unref();
  }

  /** The ends of its pipes, where it has some. */
  get pipeEnds(): readonly Socket[] {
    return this.pipes ? [this.pipes.fromGuest, this.pipes.toGuest] : [];
  }

  /** Why it has ended by itself. `lastWords` is the end of what it printed on standard error. */
  async causeOfDeath(lastWords: string): Promise<Exit> {
    try {
      await this.#daemon.ask((docker, abortSignal) => docker.getContainer(this.id).wait({ abortSignal }), ENDING_MS);
      const { oomKilled, exitCode } = await inspectState(this.#daemon, this.id);
      if (oomKilled || this.#endedByHeap(exitCode, lastWords))
        return { type: "memory", seenBytes: this.plan.limits.heapBytes };
      const words = lastWords.trim().slice(-500);
      return {
        type: "died",
        detail: `the container ended with exit code ${exitCode}${words === "" ? "" : `: ${words}`}`,
      };
    } catch (error) {
      const detail = error instanceof Error ? error.message.trim() : String(error);
      return { type: "died", detail: `the container's bridge ended, and not the container: ${detail}` };
    }
  }

  /**
   * Whether V8 has ended it because its heap was full. The kernel has not, so there is only V8's word for it, on standard
   * error. A program in JavaScript cannot write there unless it has broken out of its isolate, and then it may take the
   * memory anyway. Programs in Python and their children write there freely, so theirs is not believed.
   */
  #endedByHeap(exitCode: number, lastWords: string): boolean {
    // `run-javascript.js` ends with 1, V8 by a signal.
    const mayBeHeap = this.plan.language === "javascript" && (exitCode === 1 || exitCode > 128);
    return mayBeHeap && MEMORY_ABORT.test(lastWords);
  }

  /** The stream of a daemon that is reached by ssh has no `ref`. */
  get #streams(): readonly Partial<Pick<Socket, "ref" | "unref">>[] {
    return [this.stream, ...this.pipeEnds];
  }
}

interface Made {
  readonly id: string;
  readonly stream: Socket;
  readonly pipes: BridgePipes | undefined;
  readonly door: EgressDoor | undefined;
  readonly onLeft: (id: string) => void;
}

/** What a daemon was asked, and has not answered, it may still do. */
async function removeUnstarted(
  daemon: Daemon,
  id: string,
  error: unknown,
  onLeft: (id: string) => void,
): Promise<void> {
  if (!(await removeContainer(daemon, id)) || error instanceof DaemonSilence) onLeft(id);
}

/** A daemon may run on this machine and not see its temporary folder. Egress needs a socket there; a bridge does not. */
function explained(
  error: unknown,
  daemon: Daemon,
  pipes: BridgePipes | undefined,
  door: EgressDoor | undefined,
): unknown {
  if (pipes === undefined || !(error instanceof Error && MOUNT_REFUSED.test(error.message))) return error;
  if (!door) return new FolderUnseen(error.message, { cause: error });
  return new PortcullisError(
    "sandbox_unavailable",
    `The Docker daemon at ${daemon.address} does not see the folder ${door.folder}, and egress takes a socket there: use another daemon, or egress "none".`,
    { cause: error },
  );
}

async function openDoor(plan: EgressPlan): Promise<EgressDoor> {
  const folder = makeMountedFolder();
  try {
    return await EgressDoor.open(plan, folder);
  } catch (error) {
    removeMountedFolder(folder);
    throw error;
  }
}

function closeDoor(door: EgressDoor | undefined): void {
  door?.close();
  if (door) removeMountedFolder(door.folder);
}

/** Without pipes the container's standard streams are the bridge: gVisor, for one, opens no pipe of its host's. */
async function makePipes(daemon: Daemon, { runtime }: ContainerPlan): Promise<BridgePipes | undefined> {
  if (runtime !== "runc" || !(await daemon.sharesMachine())) return undefined;
  return BridgePipes.make().catch(() => undefined);
}

/**
 * Connects to a container's standard streams. The client's own `attach` sends its options as a body, which a daemon
 * may take for the guest's first input; this request has none.
 */
async function attach(daemon: Daemon, id: string): Promise<Socket> {
  const socket = await daemon.dial({
    path: `/containers/${id}/attach?`,
    method: "POST",
    options: { stream: true, stdin: true, stdout: true, stderr: true },
    file: Buffer.alloc(0),
    hijack: true,
    isStream: true,
    statusCodes: { 200: true, 404: "no such container", 500: "server error" },
  });
  return socket as Socket;
}

/** How a container has ended, as the daemon says. */
async function inspectState(daemon: Daemon, id: string) {
  const found: { readonly State?: { readonly OOMKilled?: unknown; readonly ExitCode?: unknown } | null } =
    await daemon.ask((docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal }));
  const { OOMKilled: oomKilled, ExitCode: exitCode } = found.State ?? {};
  if (typeof exitCode !== "number") throw daemon.strange("how a container has ended");
  return { oomKilled: oomKilled === true, exitCode };
}

/** Ends a container, whatever it does, and removes it. A container that stays is found by its label later. */
export async function removeContainer(daemon: Daemon, id: string): Promise<boolean> {
  try {
    await daemon.ask((docker, abortSignal) => docker.getContainer(id).remove({ force: true, v: true, abortSignal }));
    return true;
  } catch (error) {
    return (error as { readonly statusCode?: number }).statusCode === 404;
  }
}
