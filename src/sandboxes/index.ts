export { createDockerSandbox } from "./docker/docker-sandbox.ts";
export { createIsolateSandbox } from "./isolate/isolate-sandbox.ts";
export type { DockerSandboxOptions } from "./docker/docker-options.ts";
export type { EgressOptions } from "./docker/egress/egress-plan.ts";
export type { IsolateSandboxOptions } from "./isolate/pool-options.ts";
export type {
  Connection,
  Exit,
  Guest,
  KillReason,
  OpenOptions,
  ResourceUsage,
  Sandbox,
  SandboxLimits,
} from "./sandbox.ts";
