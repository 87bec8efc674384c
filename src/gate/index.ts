export type { Grant, GrantLeft } from "./approve/grant-terms.ts";
export type { Policy, PolicyAnswer, PolicyName, PolicyRequest } from "./approve/policy.ts";
