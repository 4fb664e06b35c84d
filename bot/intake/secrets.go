package intake

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentmux/agentmux/internal/redact"
)

const (
	// SecretVariable is the environment variable with the secret of webhooks.
	SecretVariable = "AGENTMUX_WEBHOOK_SECRET"
	// secretKey is the setting with the name of the file.
	secretKey = "bot.webhook_secret_file"

	minSecret      = 16
	maxSecrets     = 2 // the present one and, while it is replaced, the next
	maxSecretsFile = 4096
)

// SecretsError is all that is wrong with the secrets of webhooks, one sentence each, with the
// place and what to do. It holds no part of a secret.
type SecretsError struct{ Problems []string }

func (e *SecretsError) Error() string { return strings.Join(e.Problems, "\n") }

// Secrets returns the secrets of webhooks: the lines of the file that bot.webhook_secret_file
// names, or the value of AGENTMUX_WEBHOOK_SECRET. Both empty mean none. The error is a *SecretsError.
func Secrets(path, variable string) ([]redact.Secret, error) {
	var s secretsFile
	switch {
	case path != "" && variable != "":
		s.problem("%s and %s are both set: remove one of them", secretKey, SecretVariable)
		fallthrough
	case path != "":
		s.read(path)
	case variable != "":
		s.line(SecretVariable, variable)
	}
	if len(s.problems) > 0 {
		return nil, &SecretsError{Problems: s.problems}
	}
	return s.secrets, nil
}

type secretsFile struct {
	secrets  []redact.Secret
	problems []string
}

func (s *secretsFile) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

func (s *secretsFile) read(path string) {
	text, mode, err := readSecrets(path)
	if err != nil {
		s.problem("%s: %v", secretKey, err)
		return
	}
	if mode&0o037 != 0 {
		s.problem("%s: %s has mode %04o, and others may not read it: chmod 600 %s", secretKey, path, mode, path)
	}
	if text == "" {
		s.problem("%s: %s is empty: write a secret of at least %d characters on its first line", secretKey, path, minSecret)
		return
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > maxSecrets {
		s.problem("%s: %s has %d lines, at most %d are secrets: remove line %d and what is behind it", secretKey, path, len(lines), maxSecrets, maxSecrets+1)
	}
	for i, line := range lines {
		place := fmt.Sprintf("%s:%d", path, i+1)
		if whole, cut := strings.CutSuffix(line, "\r"); cut {
			s.problem("%s: the line ends with a carriage return: sed -i 's/\\r$//' %s", place, path)
			line = whole
		}
		s.line(place, line)
	}
}

// readSecrets reads no more than a file of secrets has.
func readSecrets(path string) (text string, mode os.FileMode, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", 0, err
	case !info.Mode().IsRegular():
		return "", 0, errors.New(path + " is not a file")
	case info.Size() > maxSecretsFile:
		return "", 0, fmt.Errorf("%s has %d bytes, at most %d are secrets", path, info.Size(), maxSecretsFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSecretsFile))
	return string(data), info.Mode().Perm(), err
}

// line checks one secret. Characters that an editor adds or hides would make every signature wrong.
func (s *secretsFile) line(place, secret string) {
	hidden := func(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }
	switch n := utf8.RuneCountInString(secret); {
	case strings.TrimSpace(secret) != secret:
		s.problem("%s: the secret begins or ends with a space: remove it", place)
	case strings.ContainsFunc(secret, hidden):
		s.problem("%s: the secret has characters that are not text: write another one, as of openssl rand -hex 32", place)
	case n < minSecret:
		s.problem("%s: the secret has %d characters, at least %d are needed: write a longer one, as of openssl rand -hex 32", place, n, minSecret)
	}
	s.secrets = append(s.secrets, redact.NewSecret(secret))
}
