import { containerSuite } from "./hostile-support/container-suite.ts";
import { firstOfEachClass, readAttacks } from "./hostile-support/attacks.ts";

const attacks = readAttacks("hostile-docker");
const first = new Set(firstOfEachClass(attacks));

containerSuite(attacks.filter((attack) => !first.has(attack)));
