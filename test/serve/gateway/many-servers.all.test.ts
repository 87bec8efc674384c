import { overEveryFleet } from "../../fleet/every-fleet.ts";
import { goesOnAnywhere } from "./many-servers.ts";

overEveryFleet(goesOnAnywhere);
