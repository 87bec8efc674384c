// Tries: to take back, in the turn that makes it, a call that it may not make.
// Ends: crashed bridge_broken
// Runs: vault.open 0
import { call, cancel, guestThatSays, READY, turnEnd } from "../hostile-support/frames.ts";
export default () => guestThatSays([READY], [call(1, "vault.open"), cancel(1), turnEnd(0)]);
