export type { Grant, GrantLeft } from "./gate/approve/grant-terms.ts";
export type { Policy, PolicyAnswer, PolicyName, PolicyRequest } from "./gate/approve/policy.ts";
