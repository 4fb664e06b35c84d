package usage_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/agentmux/agentmux/internal/usage"
)

func TestUsageInWords(t *testing.T) {
	for want, u := range map[string]usage.Usage{
		"0 in, 0 out":                            {},
		"9999 in, 80 k out":                      {Input: 9_999, Output: 80_400},
		"10 k in, 999 k out":                     {Input: 10_000, Output: 999_499},
		"1.0 M in, 1.2 M out, 0.52 USD":          {Input: 999_500, Output: 1_234_567, Money: 0.519},
		"9.9 M in, 12 M out":                     {Input: 9_949_999, Output: 12_000_000, Cached: 5, Reasoning: 7, Turns: 3},
		"10 M in, 0 out, less than 0.01 USD":     {Input: 9_950_000, Money: 0.004},
		"1000000 M in, 1000000 M out, 12.00 USD": {Input: 1e12, Output: 1e12, Money: 12},
	} {
		if got := u.String(); got != want {
			t.Errorf("%+v is told as %q, want %q", u, got, want)
		}
	}
}

func TestAddLeavesNothingOut(t *testing.T) {
	one := usage.Usage{Cached: 1, Input: 2, Money: 0.5, Output: 4, Reasoning: 8, Turns: 16}
	if got, want := one.Add(one), (usage.Usage{Cached: 2, Input: 4, Money: 1, Output: 8, Reasoning: 16, Turns: 32}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestFiguresThatNoLaunchCanHave keeps sums of untrusted figures from overflowing, and from
// what JSON cannot hold.
func TestFiguresThatNoLaunchCanHave(t *testing.T) {
	high := usage.Usage{Cached: math.MaxInt64, Input: math.MaxInt64, Money: math.Inf(1), Output: math.MaxInt64, Reasoning: math.MaxInt64, Turns: math.MaxInt64}
	low := usage.Usage{Cached: -1, Input: -1, Money: math.Inf(-1), Output: -1, Reasoning: -1, Turns: -1}
	if got := low.Sane(); got != (usage.Usage{}) {
		t.Errorf("%+v", got)
	}
	if got := (usage.Usage{Money: math.NaN()}).Sane(); got.Money != 0 {
		t.Errorf("%+v", got)
	}
	sum := usage.Usage{}
	for range 1000 {
		sum = sum.Add(high.Sane())
	}
	if sum.Input <= 0 || sum.Turns <= 0 || sum.Money > 1e12 {
		t.Errorf("%+v", sum)
	}
	if _, err := json.Marshal(sum); err != nil {
		t.Error(err)
	}
	if some := (usage.Usage{Cached: 1, Input: 2, Money: 3, Output: 4, Reasoning: 5, Turns: 6}); some.Sane() != some {
		t.Errorf("%+v became %+v", some, some.Sane())
	}
}
