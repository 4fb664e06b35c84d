package ghsync

import (
	"unsafe"

	"github.com/google/go-github/v62/github"
)

// rest is a *github.Client whose type the linker does not see. A [Client] becomes a value of interfaces,
// and the linker keeps each exported method of each type below such a value as long as anything in the
// program looks methods up by reflection: all services of go-github with their types, 1.6 MB.
type rest struct{ client unsafe.Pointer }

func newRest(c *github.Client) rest { return rest{unsafe.Pointer(c)} }

func (r rest) api() *github.Client { return (*github.Client)(r.client) }
