package journal

// Line is a record as a line.
var Line = encode
