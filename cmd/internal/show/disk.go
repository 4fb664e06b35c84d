package show

import (
	"github.com/agentmux/agentmux/bot/admission"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// diskNote says how little is free on the disk of a session that has not ended, what that leads to, and what to do; "" if there is
// enough. The session itself cannot tell: it waits until it can write again.
func diskNote(e session.Entry) string {
	if e.State == nil || e.State.Ended() {
		return ""
	}
	space := admission.Machine{StateHome: e.Dir}.LacksSpace()
	switch {
	case space == "":
		return ""
	case e.Running:
		return space + ": where a disk is full a session waits, and after some minutes its host ends; make room there, as with agentmux clean"
	}
	return space + ": make room there before the session continues, as with agentmux clean"
}
