export type { Policy, PolicyAnswer, PolicyName, PolicyRequest } from "./gate/approve/policy.ts";
