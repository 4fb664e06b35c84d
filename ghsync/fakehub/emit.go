package fakehub

// emitIssue tells hooks and the search of a change of an issue.
func (h *hub) emitIssue(action string, i *issue, by *user, l *label) {
	h.remember(i)
	if len(h.hooks) == 0 {
		return
	}
	v := viewer{hub: h, repo: i.repo}
	payload := obj{"issue": v.issueJSON(i), "sender": h.userJSON(by)}
	if l != nil {
		payload["label"] = v.labelJSON(l)
	}
	if i.pull != nil {
		h.emit(i.repo, "pull_request", action, obj{"pull_request": v.pullJSON(i), "number": i.number, "sender": h.userJSON(by)})
		return
	}
	h.emit(i.repo, "issues", action, payload)
}

func (h *hub) emitComment(action string, m *comment, by *user) {
	if len(h.hooks) == 0 {
		return
	}
	v := viewer{hub: h, repo: m.issue.repo}
	h.emit(m.issue.repo, "issue_comment", action, obj{
		"issue": v.issueJSON(m.issue), "comment": v.commentJSON(m), "sender": h.userJSON(by),
	})
}

func (h *hub) emitPull(action string, i *issue, by *user) { h.emitIssue(action, i, by, nil) }
