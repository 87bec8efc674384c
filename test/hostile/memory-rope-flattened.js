// Tries: to double a rope cheaply, and to make it flat at the end.
// Ends: stopped memoryBytes | failed RangeError
let rope = "0123456789abcdef";
for (let round = 0; round < 24; round += 1) rope += rope;
return rope.charCodeAt(7) + rope.lastIndexOf("none");
