// Tries: to be no text: to hide what it does from its reader, behind control characters.
// Ends: failed program_not_text
return 1; // [2Kharmless
