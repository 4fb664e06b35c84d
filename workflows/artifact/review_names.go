package artifact

import (
	"fmt"
	"path"
)

// ReviewFile returns the file a reviewer writes. dir is the one of the phase.
func ReviewFile(dir, role string) string { return path.Join(dir, ReviewArtifact(role)) }

// ReviewArchive returns where the host keeps a verdict of a round.
func ReviewArchive(dir, role string, iteration int) string {
	return path.Join(dir, fmt.Sprintf("review_%d_%s.md", iteration, role))
}
