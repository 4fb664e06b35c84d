package command

import (
	"strings"
	"time"

	"github.com/agentmux/agentmux/orchestrator"
	"github.com/agentmux/agentmux/orchestrator/decide"
	"github.com/agentmux/agentmux/orchestrator/session"
)

// startsHost are the commands that wake a parked session. A stop also wakes one that no host has begun: nothing else would
// read it.
var startsHost = map[string]bool{"stop": true, "changes": true, "retry": true}

// Wakes reports whether a command to a session without a host starts one that applies it.
func Wakes(s *orchestrator.State, name string) bool {
	return startsHost[name] && s.Parked() || name == "stop" && s.Unbegun() || name == "changes" && s.Phase == orchestrator.PhaseDone
}

// needText are the commands of NeedsText.
var needText = map[string]bool{"answer": true, "changes": true, "say": true}

// NeedsText reports whether a command says nothing without a text.
func NeedsText(name string) bool { return needText[name] }

// TextFault tells why the text of a command is missing; "" if it is not.
func TextFault(name, text string) string {
	if needText[name] && strings.TrimSpace(text) == "" {
		return name + " needs a text"
	}
	return ""
}

// Unfit tells why a session that has no host, or will never read another line, cannot get a
// command; "" if it can. The reason is what follows the session's name in a sentence.
func Unfit(s *orchestrator.State, running bool, name string) string {
	switch {
	case s.Phase == orchestrator.PhaseDone && name != "changes":
		return "is done, there is nothing to " + name
	case s.Phase == orchestrator.PhaseDone && s.Completion.PRNumber == 0:
		return "is done without a pull request"
	case s.Phase == orchestrator.PhaseDone, running:
		return ""
	case name == "pause", name == "stop" && !s.Parked() && !s.Unbegun():
		return "is not running"
	}
	return ""
}

// Foresee fails with a *RefusedError if the session in dir, which is in state s and has no host,
// would refuse the command. With resumed it would be resumed first.
func Foresee(dir string, s *orchestrator.State, p orchestrator.Payload, resumed bool) error {
	sess, err := session.Open(dir)
	if err != nil {
		return err
	}
	def, err := sess.Definition()
	if err != nil {
		return err
	}
	if reason := decide.Foresee(def, s, p, time.Now(), resumed); reason != "" {
		return &RefusedError{Reason: reason}
	}
	return nil
}
