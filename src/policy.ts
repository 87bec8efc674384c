export type { Grant } from "./gate/approve/grant-terms.ts";
export type { GrantLeft } from "./gate/approve/grants.ts";
export type { Policy, PolicyAnswer, PolicyName, PolicyRequest } from "./gate/approve/policy.ts";
