package gitrepo

import "fmt"

// storeHead is the HEAD of a store: a branch that is never made. Git wants the file
// before it takes a directory for a repository.
const storeHead = "ref: refs/heads/none\n"

// DamagedError is a store that holds work of sessions and cannot be used.
type DamagedError struct {
	Dir  string
	What string // what is wrong with it
	Owed string // a ref that a session's work is known by; "" if the place is not a directory
}

// Error names the place, what it held and the next step.
func (e *DamagedError) Error() string {
	owed := ""
	if e.Owed != "" {
		owed = ", and work of sessions was in it (" + e.Owed + ")"
	}
	return fmt.Sprintf("the host repository %s is damaged: %s%s; put it back from a backup, or move it away for a new one to be made: "+
		"a session whose work was in it then says so", e.Dir, e.What, owed)
}
