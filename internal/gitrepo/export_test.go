package gitrepo

// SetHook makes a test see the points of a walk: "read" before a directory is opened,
// "copy" before a file of a live workspace is opened, "index" between the walk and the first git that reads files.
func (h *Host) SetHook(hook func(point, path string)) { h.hook = hook }
