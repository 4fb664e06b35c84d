package orchestrator

import (
	"maps"
	"slices"
)

// Clone returns a deep copy. It is made for every input, so it knows the fields
// that hold more than values; a test compares it with what a file would keep.
func (s *State) Clone() *State {
	c := *s
	for _, list := range []*[]string{&c.CompletedSubplans, &c.ActivePlanIDs, &c.CompletedGroups, &c.RecentIDs, &c.Nominations} {
		*list = slices.Clone(*list)
	}
	c.GHAvailable, c.Gate = clonePointer(s.GHAvailable), clonePointer(s.Gate)
	c.ResearchTasks, c.WebResearchTasks = maps.Clone(s.ResearchTasks), maps.Clone(s.WebResearchTasks)
	c.Deadlines, c.Counters, c.Seen = maps.Clone(s.Deadlines), maps.Clone(s.Counters), maps.Clone(s.Seen)
	c.SubplanStatus, c.Conflicts = maps.Clone(s.SubplanStatus), cloneLists(s.Conflicts)
	c.ActiveReviews, c.ReviewResults = maps.Clone(s.ActiveReviews), maps.Clone(s.ReviewResults)
	c.Agents, c.Leaving, c.Workspaces, c.Team = maps.Clone(s.Agents), maps.Clone(s.Leaving), maps.Clone(s.Workspaces), maps.Clone(s.Team)
	c.Messages, c.Unknown, c.Warnings = slices.Clone(s.Messages), maps.Clone(s.Unknown), slices.Clone(s.Warnings)
	c.Questions, c.Settings.Msg.Rows = slices.Clone(s.Questions), s.Settings.Msg.Rows.Clone()
	for i := range c.Questions {
		c.Questions[i].Options = slices.Clone(c.Questions[i].Options)
	}
	c.Pending = slices.Clone(s.Pending)
	for i := range c.Pending {
		c.Pending[i] = c.Pending[i].Clone()
	}
	c.Schedule = clonePointer(s.Schedule)
	if c.Schedule != nil {
		c.Schedule.clone()
	}
	done := &c.Completion
	for _, list := range []*[]string{&done.Exclude, &done.Held, &done.Findings, &done.Asked, &done.Cleared, &done.Open} {
		*list = slices.Clone(*list)
	}
	c.fill()
	return &c
}

// Clone returns a copy that shares nothing with e.
func (e Effect) Clone() Effect {
	e.After = slices.Clone(e.After)
	a := &e.Args
	for _, list := range []*[]string{&a.Paths, &a.Owned, &a.Exclude, &a.Held, &a.Left} {
		*list = slices.Clone(*list)
	}
	a.Sources = maps.Clone(a.Sources)
	return e
}

// clone makes what s shares with its copy its own.
func (s *Schedule) clone() {
	s.Groups = slices.Clone(s.Groups)
	for i := range s.Groups {
		s.Groups[i].Plans = slices.Clone(s.Groups[i].Plans)
	}
	s.Owned, s.Titles = cloneLists(s.Owned), maps.Clone(s.Titles)
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}

func cloneLists(m map[string][]string) map[string][]string {
	out := maps.Clone(m)
	for key, list := range out {
		out[key] = slices.Clone(list)
	}
	return out
}
