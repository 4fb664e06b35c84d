package agent

import "strings"

// Program returns where the provider's program is in the agents' PATH. self stands for
// {self} in a command.
func (p Provider) Program(self, path string) (string, error) {
	return lookPath(strings.ReplaceAll(p.Command, "{self}", self), path)
}
