package show

// Visible and DiskNote are for the tests.
var (
	Visible  = visible
	DiskNote = diskNote
)
