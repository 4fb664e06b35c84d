package roster

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/agentmux/agentmux/internal/durable"
	"github.com/agentmux/agentmux/workflows/agents"
	"github.com/agentmux/agentmux/workflows/message"
)

// maxRoutes is how large a table may be.
const maxRoutes = 1 << 20

// Routes reads the table that says which agents of a run may write what to whom, from the directory
// of the project. A project without one allows all. Of a run of a part of a file the table may name
// other agents. problems are those of the table, with their lines.
func Routes(project string, team *agents.Team, part bool) (rows message.Rows, problems []string) {
	name := message.RoutingFile(team.Session)
	data, err := durable.ReadRegular(project, filepath.FromSlash(name), maxRoutes)
	switch bad := (*durable.ArtifactError)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.As(err, &bad):
		return nil, []string{name + " " + bad.Problem}
	case err != nil:
		return nil, []string{fmt.Sprintf("%s cannot be read: %v", name, err)}
	}
	var names []string // none = any
	for i := 0; i < len(team.Agents) && !part; i++ {
		names = append(names, team.Agents[i].Name)
	}
	table, found := message.ParseRouting(name, data, team.Session, names)
	if found.Err() != nil {
		return nil, found.Lines()
	}
	return table.Rows(), nil
}
