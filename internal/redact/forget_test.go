package redact_test

import (
	"encoding/base64"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/agentmux/agentmux/internal/redact"
)

// A retired value is found until its time is over, in every encoding, and others after it.
func TestARetiredValueIsForgotten(t *testing.T) {
	r := redact.New()
	values := map[string]string{"kept": random(300, 40, alnum), "retired": random(301, 40, alnum), "again": random(302, 40, alnum)}
	for name, value := range values {
		if err := r.Add(name, value); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r.Retire(redact.NewSecret(values["retired"]), now.Add(time.Hour))
	r.Retire(redact.NewSecret(values["again"]), now.Add(time.Hour))
	if err := r.Add("again", values["again"]); err != nil {
		t.Fatal(err)
	}
	found := func(name string) bool {
		return len(r.Scan(values[name])) > 0 && len(r.Scan(base64.StdEncoding.EncodeToString([]byte(values[name])))) > 0
	}
	if n := r.Forget(now.Add(time.Hour)); n != 0 || !found("retired") {
		t.Errorf("%d values are forgotten before their time", n)
	}
	if n := r.Forget(now.Add(time.Hour + 1)); n != 1 || found("retired") {
		t.Errorf("%d values are forgotten after their time", n)
	}
	for _, name := range []string{"kept", "again"} {
		if !found(name) {
			t.Errorf("the one that is %s is forgotten, too", name)
		}
	}
	if n := len(r.Values()); n != 2 {
		t.Errorf("%d values are handed on", n)
	}
	if err := r.Add("retired", values["retired"]); err != nil || !found("retired") {
		t.Errorf("it is not found once it is added again: %v", err)
	}
}

// A year of hourly tokens takes no more memory than a day of them.
func TestAYearOfTokensTakesTheMemoryOfADay(t *testing.T) {
	r := redact.New()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var sizes []uint64
	perDay := 24
	if testing.Short() {
		perDay = 8
	}
	for n := range perDay * 9 {
		token := redact.NewSecret("ghs_" + random(uint64(1000+n), 516, alnum))
		if err := r.AddSecret("token", token); err != nil {
			t.Fatal(err)
		}
		now = now.Add(24 * time.Hour / time.Duration(perDay))
		r.Retire(token, now.Add(24*time.Hour))
		if n%perDay == perDay-1 {
			r.Forget(now)
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			sizes = append(sizes, m.HeapAlloc)
		}
	}
	if len(r.Values()) > 2*perDay+1 || slices.Max(sizes[4:]) > 2*slices.Max(sizes[:3]) {
		t.Errorf("%d values, heaps of %d bytes", len(r.Values()), sizes)
	}
	t.Logf("heaps of %d bytes by day", sizes)
}
