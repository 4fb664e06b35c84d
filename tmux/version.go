package tmux

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Version returns what `tmux -V` says without the name, as "3.3a". binary is
// empty for the tmux in PATH.
func Version(ctx context.Context, binary string) (string, error) {
	if binary == "" {
		binary = "tmux"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, binary, "-V").Output()
	if err != nil {
		return "", fmt.Errorf("run tmux: %w", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "tmux ")), nil
}
