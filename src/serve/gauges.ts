import type { Runtime } from "../runtime.ts";
import type { Gauge } from "./metrics.ts";

/** Counts the open streams of events. */
export class OpenStreams {
  open = 0;

  add(by: number): void {
    this.open += by;
  }
}

/** The figures of `/metrics` that are read when they are asked for. */
export function gaugesOf(runtime: Pick<Runtime, "queue">, streams: OpenStreams): readonly Gauge[] {
  return [
    { name: "portcullis_executions_running", help: "Running executions.", read: () => runtime.queue.running },
    {
      name: "portcullis_executions_queued",
      help: "Executions that wait for a place.",
      read: () => runtime.queue.waiting,
    },
    { name: "portcullis_event_streams", help: "Open streams of events.", read: () => streams.open },
    {
      name: "portcullis_resident_memory_bytes",
      help: "Memory of the process.",
      read: () => process.memoryUsage.rss(),
    },
    { name: "portcullis_uptime_seconds", help: "Time since the process started.", read: () => process.uptime() },
  ];
}
