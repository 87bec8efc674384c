export { isModelName, MODEL_NAMES, type ModelName, modelOf, readModelName } from "../model-name.ts";
export { inputOf, PROGRAM_SCHEMA } from "./program-input.ts";
export { type ToolNames, toolNamesOf } from "./tool-names.ts";
