package command

import (
	"github.com/agentmux/agentmux/orchestrator/session"
	"github.com/agentmux/agentmux/orchestrator/story"
)

// Results tell what became of commands, from the records of their session. They belong to one
// goroutine.
type Results struct {
	follower *session.Follower
	commands story.Commands
}

// ResultsOf follows the session in dir from behind record seq.
func ResultsOf(dir string, seq int) (*Results, error) {
	s, err := session.Open(dir)
	if err != nil {
		return nil, err
	}
	return &Results{follower: s.Follow(seq)}, nil
}

// Read takes in what was committed since the last call.
func (r *Results) Read() error {
	records, err := r.follower.Read()
	for _, e := range records {
		r.commands.Fold(e)
	}
	return err
}

// Of returns the command of a source as it is now; ok is false if the session has not read it.
func (r *Results) Of(source string) (c story.Command, ok bool) {
	for _, c := range r.commands {
		if c.SourceID == source && source != "" {
			return c, true
		}
	}
	return story.Command{}, false
}
