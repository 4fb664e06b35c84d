package ghsync

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// requestTime is how long after the newest request label an issue's labels are taken as
// they are: two that are set together are one request.
const requestTime = 5 * time.Second

// Request is what the labels of an issue ask for.
type Request struct {
	// Workflows are the names that labels select, sorted; empty means the configured
	// one. More than one is a contradiction that only a person can settle.
	Workflows []string
	// Events put the request labels on that are on now, oldest first. They are decided
	// together; the newest is the trigger.
	Events []LabelEvent
}

// Trigger is the newest event, the zero value if the history does not know one.
func (r Request) Trigger() LabelEvent {
	if len(r.Events) == 0 {
		return LabelEvent{}
	}
	return r.Events[len(r.Events)-1]
}

// Settled reports whether the labels count as they are now.
func (r Request) Settled(now time.Time) bool {
	return !now.Before(r.Trigger().At.Add(requestTime))
}

// Request reads the labels of the issue. asked tells whether one of them is the request
// label or one with the name of a workflow behind it, as in agentmux:quick. Labels that
// tell the state of a session ask for nothing.
func (r Record) Request(label string) (q Request, asked bool) {
	on := map[string]bool{}
	for _, name := range r.Issue.Labels {
		workflow, ok := RequestLabel(name, label)
		if !ok {
			continue
		}
		asked = true
		on[strings.ToLower(name)] = true
		if workflow != "" {
			q.Workflows = append(q.Workflows, workflow)
		}
	}
	slices.Sort(q.Workflows)
	q.Workflows = slices.Compact(q.Workflows)
	latest := map[string]int{} // label -> its newest event
	for i, e := range r.Labels {
		latest[strings.ToLower(e.Name)] = i
	}
	for i, e := range r.Labels {
		if name := strings.ToLower(e.Name); e.Added && on[name] && latest[name] == i {
			q.Events = append(q.Events, e)
		}
	}
	return q, asked
}

// AsRequested returns the record with the request labels that were on at a time. The host that
// claims an issue takes them off.
func (r Record) AsRequested(label string, at time.Time) Record {
	isRequest := func(name string) bool {
		_, is := RequestLabel(name, label)
		return is
	}
	r.Issue.Labels = slices.DeleteFunc(slices.Clone(r.Issue.Labels), isRequest)
	// The time of a trigger has no part of a second.
	later := func(e LabelEvent) bool { return isRequest(e.Name) && e.At.Unix() > at.Unix() }
	r.Labels = slices.DeleteFunc(slices.Clone(r.Labels), later)
	on := map[string]bool{}
	for _, e := range r.Labels {
		if isRequest(e.Name) {
			on[strings.ToLower(e.Name)] = e.Added
		}
	}
	for _, name := range slices.Sorted(maps.Keys(on)) {
		if on[name] {
			r.Issue.Labels = append(r.Issue.Labels, name)
		}
	}
	return r
}

// RequestLabel returns the workflow a request label names, or "".
func RequestLabel(name, label string) (workflow string, ok bool) {
	name, label = strings.ToLower(name), strings.ToLower(label)
	if name == label {
		return "", true
	}
	workflow, ok = strings.CutPrefix(name, label+":")
	if !ok || workflow == "" || workflow == labelStop || slices.Contains(StateNames(), workflow) {
		return "", false
	}
	return workflow, true
}

// labelStop is also not allowed as the name of a workflow.
const labelStop = "stop"
