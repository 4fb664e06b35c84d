package console

import "regexp"

// Typeable matches the words that have no special meaning in a shell. Names of files come from
// anybody who writes to the repository, and an offered word is one key away from being run.
var Typeable = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
