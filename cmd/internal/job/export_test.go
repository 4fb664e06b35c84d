package job

// LeftClaims is left for tests.
var LeftClaims = left
