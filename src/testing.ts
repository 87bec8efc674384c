export { scriptedModel } from "./models/scripted.ts";
export { policyParity } from "./parity/policy-parity.ts";
export { createMemorySandbox } from "./sandboxes/memory-sandbox.ts";
export type { ParityCase, ParityLoop } from "./parity/policy-parity.ts";
export type {
  ScriptedCall,
  ScriptedModel,
  ScriptedModelOptions,
  ScriptedMoment,
  ScriptedStep,
  ScriptedTurn,
} from "./models/scripted.ts";
export type { GuestFace, MemorySandboxOptions } from "./sandboxes/memory-sandbox.ts";
