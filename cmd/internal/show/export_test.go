package show

// Visible is for the tests.
var Visible = visible
