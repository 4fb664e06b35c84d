package play

var Hear = hear
