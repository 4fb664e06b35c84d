package workflows

// Templates lists the names of the built-in prompt templates.
func Templates() []string {
	names := []string{}
	for _, role := range Roles() {
		names = append(names, "agents/"+role)
	}
	return append(names, "commands/change", "commands/fix", "commands/resolve", "commands/summary")
}
