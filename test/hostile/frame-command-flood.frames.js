// Tries: to have the host keep 400,000 commands of a turn that never ends.
// Ends: stopped totalBytes | stopped cpuMs
import { clear, guestThatSays, READY, timer } from "../hostile-support/frames.ts";
const commands = [timer(1, 1000), ...Array.from({ length: 400_000 }, () => clear(1))];
export default () => guestThatSays([READY], commands);
