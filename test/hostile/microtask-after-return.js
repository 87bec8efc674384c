// Tries: to have returned, and to go on in microtasks all the same.
// Ends: stopped cpuMs
const forever = async () => {
  for (;;) await null;
};
void forever();
return "done";
