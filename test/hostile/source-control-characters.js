// Tries: to be no text: to hide what it does from whoever reads it, behind control characters.
// Ends: failed program_not_text
return 1; // [2Kharmless
