package checkpoint

import (
	"io"

	"github.com/agentmux/agentmux/internal/redact"
)

// SecretIn is what a sieve says of a file that it searches in windows of that size.
func SecretIn(known *redact.Redactor, size, overlap int, file io.Reader) (string, error) {
	s := search{secrets: known, size: size, overlap: overlap}
	return s.secretIn(file)
}

// Secret is what it says of a whole text.
func Secret(known *redact.Redactor, text string) string {
	s := newSearch(known)
	return s.secret(text)
}
