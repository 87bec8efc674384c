// Tries: to fill the process with formats, whose memory belongs to ICU and not to the heap.
// Ends: stopped memoryBytes
const kept = [];
for (let index = 0; ; index += 1)
  kept.push(new Intl.DateTimeFormat("ar-EG", { timeZone: "Asia/Tokyo", dateStyle: "full", timeStyle: "long" }));
