package daemon

// Patient is patient for tests.
var Patient = patient
