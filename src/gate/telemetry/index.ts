export { addSink, flushTelemetry } from "./sdk-switch.ts";
export { eventStreams, type Gauge, gauge, LOADS, PROCESS } from "./metric-table.ts";
export { PrometheusFigures } from "./prometheus.ts";
export { withTraceparent } from "./with-traceparent.ts";
