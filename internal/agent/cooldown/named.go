package cooldown

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const unit = `(milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)`

var (
	// spanForm is "try again in 2 hours 5 minutes", "retry in 34.07s", "Please try again in 6m0s".
	spanForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:try again|retry|resets?) (?:in|after) ((?:\d+(?:\.\d+)? ?` + unit + `(?:,? and |, | )?)+)\b`)
	})
	partForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)(\d+(?:\.\d+)?) ?` + unit) })
	// headerForm is "retry-after: 30", in seconds.
	headerForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\bretry[-_]after"?[:=] ?(\d{1,6})\b`) })
	// epochForm is "usage limit reached|1767225600", in seconds.
	epochForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)limit reached\|(\d{10})\b`) })
	// clockForm is "resets 3pm (Europe/Berlin)", "try again at 3:05 PM".
	clockForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:resets?|try again)(?: at)? (\d{1,2})(?::(\d{2}))? ?(am|pm)\b(?: \(([A-Za-z_/+-]{1,40})\))?`)
	})
)

// units are the spans that partForm finds, by their first letters.
var units = []struct {
	begin string
	span  time.Duration
}{
	{"mil", time.Millisecond}, {"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour},
}

// Named returns the time until which a service refuses more, as the words of a program at a time
// name it; zero if they do not. A time of the day without a zone is one of at's.
func Named(words string, at time.Time) time.Time {
	if m := epochForm().FindStringSubmatch(words); m != nil {
		if seconds, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			return later(time.Unix(seconds, 0), at)
		}
	}
	if m := headerForm().FindStringSubmatch(words); m != nil {
		return at.Add(spanOf(m[1] + "s"))
	}
	if m := spanForm().FindStringSubmatch(words); m != nil {
		if span := spanOf(m[1]); span > 0 {
			return at.Add(span)
		}
	}
	if m := clockForm().FindStringSubmatch(words); m != nil {
		return clock(m, at)
	}
	return time.Time{}
}

// later returns t unless it is over.
func later(t, at time.Time) time.Time {
	if t.After(at) {
		return t
	}
	return time.Time{}
}

// spanOf adds up the parts of a span, at most a year.
func spanOf(text string) time.Duration {
	var sum time.Duration
	for _, m := range partForm().FindAllStringSubmatch(text, 8) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil || n > 1_000_000 {
			return 0
		}
		for _, u := range units {
			if strings.HasPrefix(strings.ToLower(m[2]), u.begin) {
				sum += time.Duration(n * float64(u.span))
				break
			}
		}
	}
	return min(sum, 366*24*time.Hour)
}

// clock returns the next time at which it is what clockForm has found.
func clock(m []string, at time.Time) time.Time {
	zone := at.Location()
	if m[4] != "" {
		var err error
		if zone, err = time.LoadLocation(m[4]); err != nil {
			return time.Time{}
		}
	}
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2]) // none is 0
	if hour < 1 || hour > 12 || minute > 59 {
		return time.Time{}
	}
	hour %= 12
	if strings.EqualFold(m[3], "pm") {
		hour += 12
	}
	there := at.In(zone)
	next := time.Date(there.Year(), there.Month(), there.Day(), hour, minute, 0, 0, zone)
	if !next.After(at) {
		next = time.Date(there.Year(), there.Month(), there.Day()+1, hour, minute, 0, 0, zone)
	}
	return next
}
