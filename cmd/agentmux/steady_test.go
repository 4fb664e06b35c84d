package main

import "regexp"

var (
	steadyHash = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)
	steadyTime = regexp.MustCompile(`\b20[0-9]{2}-?[0-9]{2}-?[0-9]{2}[-T ][0-9]{2}:?[0-9]{2}(:?[0-9]{2})?(\.[0-9]+)?Z?`)
	steadySpan = regexp.MustCompile(`( in )[0-9]+ [0-9 a-z]+|(\| )[0-9]{2}:[0-9]{2}( \|)|( at )[0-9]{2}:[0-9]{2}\b`)
	// Of two coders in conflict either may be the one who brings both together.
	steadyCoder = regexp.MustCompile(`\(subplan [0-9]+\)`)
	steadyRest  = regexp.MustCompile(`(seq=|127\.0\.0\.1:|msgs/|review )[0-9:]+\b`)
)

// steady takes out of a text what differs between two runs.
func steady(text string) string {
	text = steadySpan.ReplaceAllString(steadyTime.ReplaceAllString(text, "TIME"), "${1}${2}${4}SPAN${3}")
	text = steadyCoder.ReplaceAllString(text, "(subplan N)")
	return steadyRest.ReplaceAllString(steadyHash.ReplaceAllString(text, "HASH"), "${1}N")
}
