// Tries: to loop in a getter while its value is written out.
// Ends: stopped runningMs
return { get value() { for (;;); } };
