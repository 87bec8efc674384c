export { unreplayableNote } from "./endings.ts";
export { resultSchemaOf } from "./result-schema.ts";
