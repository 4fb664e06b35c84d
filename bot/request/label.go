package request

import "github.com/agentmux/agentmux/ghsync"

// LabelColor is the color of the request label.
const LabelColor = "5319e7"

// Label returns the label that requests a session.
func Label(name string) ghsync.Label {
	return ghsync.Label{Name: name, Color: LabelColor, Description: "agentmux: work on this issue"}
}
