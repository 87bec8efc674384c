// Tries: to get an integer of more bits than there can be.
// Ends: failed RangeError
return String(2n ** (2n ** 40n)).length;
