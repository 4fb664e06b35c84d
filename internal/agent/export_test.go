package agent

// Variables are what the launch's program gets.
func (l Launch) Variables() map[string]string { return l.env }
