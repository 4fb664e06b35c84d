package signal

import "github.com/agentmux/agentmux/internal/usage"

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
	TurnUSD    float64 `json:"turn_usd,omitempty"` // of the turn alone; a program tells this or USD
	Turns      int64   `json:"turns"`
}

// Turn is the usage of the turn, without the money of a running total.
func (u Usage) Turn() usage.Usage {
	return usage.Usage{
		Cached: u.CacheRead, Input: u.Input + u.CacheRead + u.CacheWrite, Output: u.Output, Money: u.TurnUSD, Reasoning: u.Reasoning, Turns: u.Turns,
	}.Sane()
}
