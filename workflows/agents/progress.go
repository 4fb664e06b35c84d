package agents

// Progress is what a run stores of one agent. How far the agent is follows from it, and from
// whether it was ever started.
type Progress struct {
	Marker    string `json:"marker,omitempty"`     // content of signals/<name>.done without its newline; "" = there is none
	BlockedBy string `json:"blocked_by,omitempty"` // the dependency because of which it did not start
	Base      string `json:"base,omitempty"`       // commit it starts on; "" = the base of the run
	Tip       string `json:"tip,omitempty"`        // of its branch, which had commits of its own at the start of the run
	Step      string `json:"step,omitempty"`       // of what follows its submission, one of the Step constants; "" = it has not submitted
	Tree      string `json:"tree,omitempty"`       // that it submitted
	Branch    string `json:"branch,omitempty"`     // as it is called in the end
	Commit    string `json:"commit,omitempty"`
	Parent    string `json:"parent,omitempty"` // of Commit
	PRNumber  int    `json:"pr_number,omitempty"`
	PRURL     string `json:"pr_url,omitempty"`
	Retried   string `json:"retried,omitempty"`  // its last launch when it got another try
	Snapshot  string `json:"snapshot,omitempty"` // blob with the text of its issue, as it was at the start
}

// Started reports whether the agent was launched in its present try. last is its newest launch.
func (p Progress) Started(last string) bool { return last != "" && last != p.Retried }

// Status is how far the agent is; started tells what Started does.
func (p Progress) Status(started bool) Status {
	switch {
	case p.Marker != "":
		return ParseMarker([]byte(p.Marker)).Status()
	case started:
		return Running
	}
	return Waiting
}

// Blocked reports whether the agent did not start because of another one.
func (p Progress) Blocked() bool { return p.BlockedBy != "" }
