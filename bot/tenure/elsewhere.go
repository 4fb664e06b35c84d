package tenure

import (
	"context"
	"errors"
	"io/fs"

	"github.com/agentmux/agentmux/bot/checkpoint"
	"github.com/agentmux/agentmux/bot/claim"
)

// Overtaken reports whether the session in dir went on elsewhere since it was here. newer is that of [Spec].
func Overtaken(ctx context.Context, dir string, newer func(ctx context.Context, last claim.Note) error) (bool, error) {
	last, err := claim.ReadNote(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = newer(ctx, last)
	}
	if errors.As(err, new(*checkpoint.OtherHostError)) {
		return true, nil
	}
	return false, err
}
