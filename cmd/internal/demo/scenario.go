package demo

import (
	_ "embed"

	"github.com/agentmux/agentmux/internal/document"
)

//go:embed scenario.yaml
var scenarioYAML []byte

//go:embed playbook.yaml
var playbookYAML []byte

// Names of the people of the demonstration.
const (
	maintainer = "mia"    // opens the issues, labels, comments and reviews
	account    = "robo-1" // whose token the bot uses
)

// scenario is the repository, and what the maintainer writes.
type scenario struct {
	Owner      string            `doc:"owner"`
	Repository string            `doc:"repository"`
	Issue      issue             `doc:"issue"`
	Second     issue             `doc:"second"`
	Say        string            `doc:"say"`    // a comment while the coder works
	Stop       string            `doc:"stop"`   // a comment on the second issue
	Review     string            `doc:"review"` // what the pull request lacks
	Files      map[string]string `doc:"files"`
}

// issue is what is asked for, and the label that asks.
type issue struct {
	Title string `doc:"title"`
	Body  string `doc:"body"`
	Label string `doc:"label"`
}

// Numbers that the fake GitHub gives the issues.
const (
	firstIssue  = 1
	secondIssue = 2
)

func (s scenario) name() string { return s.Owner + "/" + s.Repository }

func loadScenario() (scenario, error) {
	var s scenario
	node, problems := document.Parse("scenario.yaml", scenarioYAML)
	problems = append(problems, document.Decode(node, &s, document.Options{})...)
	return s, problems.Err()
}
