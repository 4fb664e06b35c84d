package fakehub

// emitIssue tells hooks and the search of a change of an issue.
func (s *Server) emitIssue(action string, i *issue, by *user, l *label) {
	s.remember(i)
	if len(s.hooks) == 0 {
		return
	}
	c := &call{Server: s, repo: i.repo, at: s.now()}
	payload := obj{"issue": c.issueJSON(i), "sender": s.userJSON(by)}
	if l != nil {
		payload["label"] = c.labelJSON(l)
	}
	if i.pull != nil {
		s.emit(i.repo, "pull_request", action, obj{"pull_request": c.pullJSON(i), "number": i.number, "sender": s.userJSON(by)})
		return
	}
	s.emit(i.repo, "issues", action, payload)
}

func (s *Server) emitComment(action string, m *comment, by *user) {
	if len(s.hooks) == 0 {
		return
	}
	c := &call{Server: s, repo: m.issue.repo, at: s.now()}
	s.emit(m.issue.repo, "issue_comment", action, obj{
		"issue": c.issueJSON(m.issue), "comment": c.commentJSON(m), "sender": s.userJSON(by),
	})
}

func (s *Server) emitPull(action string, i *issue, by *user) { s.emitIssue(action, i, by, nil) }
