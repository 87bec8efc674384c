export { isModelName, MODEL_NAMES, type ModelName, modelOf, readModelName } from "../model-name.ts";
export { USER_MESSAGE } from "../turn-shape.ts";
export { inputOf, PROGRAM_SCHEMA } from "./program-input.ts";
export { ToolNames, toolNamesOf } from "./tool-names.ts";
