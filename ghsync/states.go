package ghsync

// State labels, without their prefix.
const (
	LabelQueued     = "queued"
	LabelRunning    = "running"
	LabelNeedsHuman = "needs-human"
	LabelDone       = "done"
	LabelFailed     = "failed"
)

// StateNames are the names of the state labels, without their prefix.
func StateNames() []string {
	return []string{LabelQueued, LabelRunning, LabelNeedsHuman, LabelDone, LabelFailed}
}

// StateLabels are the labels that say on an issue where its session is, for a request label.
// The server would create them without a description and in a color of its own choice.
func StateLabels(request string) []Label {
	looks := map[string]Label{
		LabelQueued:     {Color: "c5def5", Description: "agentmux: waits for its turn"},
		LabelRunning:    {Color: "1d76db", Description: "agentmux: at work"},
		LabelNeedsHuman: {Color: "fbca04", Description: "agentmux: waits for a person"},
		LabelDone:       {Color: "0e8a16", Description: "agentmux: done, see its pull request"},
		LabelFailed:     {Color: "d73a4a", Description: "agentmux: failed, see its last comment"},
	}
	var list []Label
	for _, state := range StateNames() {
		l := looks[state]
		l.Name = request + ":" + state
		list = append(list, l)
	}
	return list
}
