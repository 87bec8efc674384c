// Tries: to never say a word.
// Ends: stopped cpuMs
import { guestThatSays } from "../hostile-support/frames.ts";
export default () => guestThatSays([]);
