package signal

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agentmux/agentmux/internal/usage"
)

// Usage is what a program tells at the end of a turn. Tokens and Turns are those of the turn, as
// claude means them, and Input is without what was written to or read from a cache. USD is the
// running total of the program's session, which a later launch that resumes the session
// continues (seen with claude 2.1.330).
type Usage struct {
	Input      int64   `json:"input_tokens"`
	Output     int64   `json:"output_tokens"`
	CacheRead  int64   `json:"cache_read_tokens"`
	CacheWrite int64   `json:"cache_write_tokens"`
	Reasoning  int64   `json:"reasoning_tokens,omitempty"` // part of Output
	USD        float64 `json:"usd"`
	Turns      int64   `json:"turns"`
}

// turn is the usage of the turn, without its money.
func (u Usage) turn() usage.Usage {
	return usage.Usage{
		Cached: u.CacheRead, Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, Reasoning: u.Reasoning, Turns: u.Turns,
	}.Sane()
}

// maxReads bounds how much of an events.jsonl Spent reads, in MiB.
const maxReads = 64

// Spent returns what the launch with the directory dir has used so far; nil if its program has
// told nothing, which is not to say that it used nothing. Earlier launches of the agent lie
// beside it: what a resumed session had cost in them is not counted again.
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

// told is what the signals of one launch say of its usage.
type told struct {
	turns *usage.Usage       // the sum of its turns, without money; nil: nothing was told
	money map[string]running // by the program's session
}

// running is a running total: as it was told first and last.
type running struct{ first, last float64 }

func readTold(dir string) (told, error) {
	t := told{money: map[string]running{}}
	for offset, n := int64(0), 0; n < maxReads; n++ {
		signals, next, err := Read(dir, offset)
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
	return t, nil
}

func (t *told) add(s Signal) {
	if s.Usage == nil {
		return
	}
	turn := s.Usage.turn()
	if t.turns != nil {
		turn = t.turns.Add(turn).Sane()
	}
	t.turns = &turn
	total := usage.Usage{Money: s.Usage.USD}.Sane().Money
	if total == 0 {
		return
	}
	money, known := t.money[s.Session]
	if !known {
		money.first = total
	}
	money.last = max(money.last, total)
	t.money[s.Session] = money
}

// costBefore is the highest total that the launches before the one in dir told of a session. A
// launch's name ends with its attempt; the agent's other launches have the same name before it.
func costBefore(dir, session string) (float64, error) {
	agent, attempt := cutLast(filepath.Base(dir))
	most := 0.0
	for n := 1; n < attempt; n++ {
		before, err := readTold(filepath.Join(filepath.Dir(dir), fmt.Sprintf("%s.%d", agent, n)))
		if err != nil {
			return 0, err
		}
		most = max(most, before.money[session].last)
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
