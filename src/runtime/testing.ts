export { scriptedModel } from "../models/scripted.ts";
export { createMemorySandbox } from "../sandboxes/memory-sandbox.ts";
export type {
  ScriptedCall,
  ScriptedModel,
  ScriptedModelOptions,
  ScriptedMoment,
  ScriptedStep,
  ScriptedTurn,
} from "../models/scripted.ts";
export type { GuestFace, MemorySandboxOptions } from "../sandboxes/memory-sandbox.ts";
