package workspace

// SetHook makes a test see the points of a walk: "read" before a directory is opened,
// "copy" before a file of a live workspace is opened, "copied" after it was read and before it
// is looked at again, "index" between the walk and the first that reads files.
func (s *SnapshotSpec) SetHook(hook func(point, path string)) { s.hook = hook }
