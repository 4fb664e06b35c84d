package git

import "os"

// CopyIndex copies an index with its time. Git reads a file again that changed no
// earlier than the index was written; a younger copy would hide a change of the same
// size made right after that.
func CopyIndex(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
