package agent

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/agent/signal"
	"github.com/agentmux/agentmux/internal/usage"
)

// maxReads bounds how much of an events.jsonl Spent reads, in MiB.
const maxReads = 64

// Spent returns what the launch with the directory dir has used so far; nil if its program has
// told nothing, which is not to say that it used nothing. What the stream of a headless run tells
// counts, else what the program's transcript does. Earlier launches of the agent lie beside it:
// what a resumed session had cost in them is not counted again.
func Spent(dir string) (*usage.Usage, error) {
	own, err := readTold(dir)
	if err != nil || own.turns == nil {
		return nil, err
	}
	sum := *own.turns
	for session, money := range own.money {
		before, err := costBefore(dir, session)
		if err != nil {
			return nil, err
		}
		if money.first < before {
			before = 0 // the program lost count and began again
		}
		sum.Money += money.last - before
	}
	sum = sum.Sane()
	return &sum, nil
}

// told is what a program says of the usage of one launch.
type told struct {
	turns       *usage.Usage       // the sum of its turns, without money; nil: nothing was told
	money       map[string]running // by the program's session
	transcripts []string           // of its sessions, as the program names them
}

// running is a running total: as it was told first and last.
type running struct{ first, last float64 }

func readTold(dir string) (told, error) {
	t := told{money: map[string]running{}}
	for offset, n := int64(0), 0; n < maxReads; n++ {
		signals, next, err := signal.Read(dir, offset)
		if err != nil {
			return told{}, err
		}
		for _, s := range signals {
			t.add(s)
		}
		if next <= offset {
			break
		}
		offset = next
	}
	if t.turns == nil {
		t.readTranscripts(dir)
	}
	return t, nil
}

// add takes in a signal: a turn that it tells, or where the program keeps its transcript.
func (t *told) add(s signal.Signal) {
	if s.Transcript != "" && len(t.transcripts) < maxTranscripts && !slices.Contains(t.transcripts, s.Transcript) {
		t.transcripts = append(t.transcripts, s.Transcript)
	}
	if s.Usage != nil {
		t.turn(s.Usage.Turn())
		t.total(s.Session, s.Usage.USD)
	}
}

// turn adds what a turn used.
func (t *told) turn(turn usage.Usage) {
	if t.turns != nil {
		turn = t.turns.Add(turn)
	}
	turn = turn.Sane()
	t.turns = &turn
}

// total takes in what a session of the program has cost so far.
func (t *told) total(session string, money float64) {
	money = usage.Usage{Money: money}.Sane().Money
	if money == 0 {
		return
	}
	r, known := t.money[session]
	if !known {
		r.first = money
	}
	r.last = max(r.last, money)
	t.money[session] = r
}

// costBefore is the highest total that the launches before the one in dir told of a session. A
// launch's name ends with its attempt; the agent's other launches have the same name before it.
func costBefore(dir, session string) (float64, error) {
	agent, attempt := cutLast(filepath.Base(dir))
	most := 0.0
	for n := 1; n < attempt; n++ {
		earlier, err := readTold(filepath.Join(filepath.Dir(dir), fmt.Sprintf("%s.%d", agent, n)))
		if err != nil {
			return 0, err
		}
		most = max(most, earlier.money[session].last)
	}
	return most, nil
}

// cutLast cuts the name of a launch before its attempt.
func cutLast(launch string) (agent string, attempt int) {
	dot := strings.LastIndexByte(launch, '.')
	if dot < 0 {
		return launch, 0
	}
	attempt, _ = strconv.Atoi(launch[dot+1:]) // not a launch: it has none before it
	return launch[:dot], attempt
}
