package doctor

// For the tests.
var (
	Writable  = writable
	ProbeUser = probeUser
)
