package decide

// jumped moves what the state holds of moments when the clock was set, or the machine slept:
// that time is neither time at work nor time waited.
func (r *reducer) jumped() {
	span := r.in.Jump.D()
	if span == 0 {
		return
	}
	s := r.s
	r.shiftDeadlines(span)
	s.StillSince = s.StillSince.Later(span)
	for i := range s.Pending {
		e := &s.Pending[i]
		e.NotBefore, e.Since = e.NotBefore.Later(span), e.Since.Later(span)
	}
	for i := range s.Messages {
		s.Messages[i].NextAt = s.Messages[i].NextAt.Later(span)
	}
	for name, c := range s.Counters {
		c.Since = c.Since.Later(span)
		s.Counters[name] = c
	}
	for key, a := range s.Agents {
		a.Heard = r.now // what was silent meanwhile says nothing
		s.Agents[key] = a
	}
	if span < 0 { // files that are written from now on are older than these moments
		s.PhaseEnteredAt = s.PhaseEnteredAt.Later(span)
		if s.Gate != nil {
			s.Gate.OpenedAt = s.Gate.OpenedAt.Later(span)
		}
	}
}
