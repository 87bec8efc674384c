export { flushTelemetry } from "./sdk-switch.ts";
export { eventStreams, type Gauge, gauge, LOADS, PROCESS } from "./metric-table.ts";
export { PrometheusFigures } from "./prometheus.ts";
export { addSink } from "./sdk-switch.ts";
export { withTraceparent } from "./with-traceparent.ts";
