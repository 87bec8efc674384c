// Tries: to speak another version of the protocol.
// Ends: crashed bridge_broken
// Records: violation
import { guestThatSays, settled } from "../hostile-support/frames.ts";
export default () => guestThatSays(['{"kind":"ready","protocol":2,"language":"javascript"}'], [settled("1")]);
