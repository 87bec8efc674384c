import { PortcullisError } from "../../errors.ts";
import type { Resolved } from "../../option-rules/options.ts";
import type { JournalWatch } from "../live/journal-watch.ts";
import type { SERVER_RULES } from "../server-options.ts";
import type { Driving } from "./driving.ts";
import { FleetDriving } from "./fleet-driving.ts";
import { type DrivingParts, LocalDriving } from "./local-driving.ts";

/** Throws `option_invalid` for workers elsewhere without a fleet. */
export function drivingOf(
  parts: DrivingParts,
  watch: JournalWatch,
  { workers, concurrency }: Pick<Resolved<typeof SERVER_RULES>, "workers" | "concurrency">,
): Driving {
  const { fleet } = parts.runtime;
  if (fleet) return new FleetDriving(fleet, { ...parts, watch, concurrency: workers === "here" ? concurrency : 0 });
  if (workers === "here") return new LocalDriving(parts);
  throw new PortcullisError(
    "option_invalid",
    'createServer({ workers: "elsewhere" }): the runtime belongs to no fleet, so there are no other workers: createRuntime({ fleet }).',
  );
}
