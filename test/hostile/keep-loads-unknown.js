// Tries: to make the host answer ten thousand loads of unknown names with long lists.
// Ends: stopped calls | stopped wallMs | stopped cpuMs
for (let n = 0; n < 100; n += 1) await save(`name ${"x".repeat(90)} ${n}`, n);
for (;;) await Promise.allSettled(Array.from({ length: 100 }, (_, n) => load(`${"y".repeat(5000)}${n}`)));
