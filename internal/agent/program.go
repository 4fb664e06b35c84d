package agent

import "strings"

// Program returns the path of the provider's program in the agents' PATH. self replaces {self}
// in a command.
func (p Provider) Program(self, path string) (string, error) {
	return lookPath(strings.ReplaceAll(p.Command, "{self}", self), path)
}
