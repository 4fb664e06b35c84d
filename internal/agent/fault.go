package agent

import (
	"slices"
	"strings"
)

// Fault is why a program's service stops it.
type Fault string

// The faults.
const (
	FaultLogin  Fault = "login"  // it refuses the key or the login
	FaultLimit  Fault = "limit"  // it refuses more for now
	FaultOutage Fault = "outage" // it does not work or cannot be reached
)

// Exits are parts of the last words of a program that its service stopped.
type Exits struct {
	Login  []string `doc:"login"`
	Limit  []string `doc:"limit"`
	Outage []string `doc:"outage"`
}

// Fault returns the fault that a program's last words name, or "".
func (p Provider) Fault(words string) Fault {
	words = strings.ToLower(words)
	said := func(texts []string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(words, strings.ToLower(text)) })
	}
	switch {
	case said(p.Exits.Login):
		return FaultLogin
	case said(p.Exits.Limit):
		return FaultLimit
	case said(p.Exits.Outage):
		return FaultOutage
	}
	return ""
}
