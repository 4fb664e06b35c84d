// Package usage says what agents have used of their models: tokens, turns and money, as their
// programs count them. It adds them up and puts them into words. It knows no program: package
// signal reads what each of them tells.
package usage

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// Usage is what one or more launches have used. Programs that are not trusted tell the figures:
// they are for people, and nothing is decided by them.
type Usage struct {
	Cached    int64   `json:"cached"`          // tokens of Input that came from a cache
	Input     int64   `json:"input"`           // tokens that models were given
	Money     float64 `json:"money,omitempty"` // US dollars; 0 if the program does not say
	Output    int64   `json:"output"`          // tokens that models wrote
	Reasoning int64   `json:"reasoning"`       // tokens of Output that were thoughts
	Turns     int64   `json:"turns"`
}

// Most of each figure that one launch may tell. A larger one is a mistake or a lie; the sum of
// all launches of a session must not overflow.
const (
	maxTokens = 1_000_000_000_000
	maxMoney  = 1_000_000
)

// Sane returns u with each figure between 0 and what a launch can use.
func (u Usage) Sane() Usage {
	for _, n := range []*int64{&u.Cached, &u.Input, &u.Output, &u.Reasoning, &u.Turns} {
		*n = min(max(*n, 0), maxTokens)
	}
	if u.Money = min(max(u.Money, 0), maxMoney); math.IsNaN(u.Money) {
		u.Money = 0
	}
	return u
}

// Add returns the sum of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Cached: u.Cached + v.Cached, Input: u.Input + v.Input, Money: u.Money + v.Money,
		Output: u.Output + v.Output, Reasoning: u.Reasoning + v.Reasoning, Turns: u.Turns + v.Turns,
	}
}

// Less is what u has above an earlier running total, nil for none. A program that lost count and
// began again has used at least u.
func (u Usage) Less(earlier *Usage) Usage {
	if earlier == nil || earlier.Input > u.Input || earlier.Output > u.Output {
		return u
	}
	return Usage{
		Cached: u.Cached - earlier.Cached, Input: u.Input - earlier.Input, Money: u.Money - earlier.Money,
		Output: u.Output - earlier.Output, Reasoning: u.Reasoning - earlier.Reasoning, Turns: u.Turns - earlier.Turns,
	}
}

// JSON is u as a file.
func (u Usage) JSON() []byte {
	data, _ := json.MarshalIndent(u.Sane(), "", "  ") // numbers that are no NaN can always be written
	return append(data, '\n')
}

// String is the usage in few words: "1.2 M in, 80 k out, 0.52 USD". Money is left out if no program
// says it.
func (u Usage) String() string {
	text := tokens(u.Input) + " in, " + tokens(u.Output) + " out"
	switch {
	case u.Money >= 0.005:
		text += fmt.Sprintf(", %.2f USD", u.Money)
	case u.Money > 0:
		text += ", less than 0.01 USD"
	}
	return text
}

// tokens rounds a number so that it is read at a glance.
func tokens(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 999_500:
		return strconv.FormatInt((n+500)/1000, 10) + " k"
	case n < 9_950_000:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + " M"
	}
	return strconv.FormatInt((n+500_000)/1_000_000, 10) + " M"
}
