package console

import "regexp"

// Typeable are words that no shell takes for anything else. Names of files come from
// whoever writes to the repository, and what is offered is one key away from being run.
var Typeable = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
