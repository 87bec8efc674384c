import type { Queue, QueueAddOptions } from "p-queue";
import { type InLine, WaitingLine } from "../../places/waiting-line.ts";

type Run = () => Promise<unknown>;

export interface TurnOptions extends QueueAddOptions {
  readonly tenant: string;
}

interface Task extends InLine {
  readonly id: string;
  readonly run: Run;
}

/** A waiting line as a queue of `p-queue`, which gives each task an id: tenants are served in turn, whatever they hold. */
export class TenantsInTurn implements Queue<Run, TurnOptions> {
  readonly #line = new WaitingLine<Task>();
  readonly #byId = new Map<string, Task>();

  get size(): number {
    return this.#line.length;
  }

  enqueue(run: Run, { tenant = "", id = "" }: Partial<TurnOptions> = {}): void {
    const task = { tenant, id, run };
    this.#byId.set(id, task);
    this.#line.add(task);
  }

  dequeue(): Run | undefined {
    const tenant = this.#line.next();
    const task = tenant === undefined ? undefined : this.#line.take(tenant);
    if (task) this.#byId.delete(task.id);
    return task?.run;
  }

  remove(id: string): void {
    const task = this.#byId.get(id);
    if (task) this.#line.remove(task);
    this.#byId.delete(id);
  }

  /** All tasks have one priority. */
  filter(): Run[] {
    return Array.from(this.#byId.values(), ({ run }) => run);
  }

  setPriority(): void {}
}
