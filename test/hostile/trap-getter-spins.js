// Tries: to loop in a getter while its value is written out.
// Ends: stopped cpuMs
return { get value() { for (;;); } };
