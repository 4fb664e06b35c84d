package job_test

import (
	"testing"
	"time"

	"github.com/agentmux/agentmux/cmd/internal/job"
)

// TestGitHub90TheTimeOfAJob is part of row 90 of github section 15: the hand-over comes before the end of the job and of its token.
func TestGitHub90TheTimeOfAJob(t *testing.T) {
	for minutes, want := range map[string]time.Duration{
		"1": 30 * time.Second, "5": 3 * time.Minute, "10": 8 * time.Minute, "60": 54 * time.Minute, "360": 345 * time.Minute, "750": 735 * time.Minute,
		"1440": 22 * time.Hour, "50400": 22 * time.Hour, "": 22 * time.Hour,
		"0": 22 * time.Hour, "-5": 22 * time.Hour, "6h": 22 * time.Hour, "1.5": 22 * time.Hour, "50401": 22 * time.Hour, "99999999999999999999": 22 * time.Hour,
	} {
		in := job.Inputs{"timeout-minutes": minutes}
		if got := in.HandsOver(); got != want {
			t.Errorf("%q: %s, want %s", minutes, got, want)
		}
		valid := minutes == "" || minutes[0] >= '1' && minutes != "6h" && minutes != "1.5" && minutes != "50401" && len(minutes) < 20
		if problems := in.Check(); (len(problems) == 0) != valid {
			t.Errorf("%q: %v", minutes, problems)
		}
	}
}
