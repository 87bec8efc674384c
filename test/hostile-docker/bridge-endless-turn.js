// Tries: to send one turn that never ends, every frame of it right.
// Ends: stopped totalBytes | stopped cpuMs
say('{"kind":"timer","id":1,"ms":1000}');
const frames = new Array(2000).fill('{"kind":"clear","id":1}');
for (;;) say(...frames);
