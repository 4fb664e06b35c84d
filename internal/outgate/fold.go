package outgate

import "strings"

func fold(s string) string { return strings.ToLower(s) }

func normal(string) bool { return true }
